"""How long things take on the embedded host: grace periods, delays and limits of the stand-ins, in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """The defaults are what `closeknit up` runs with; a real cluster's are longer."""

    start_time: float = 1.0
    """Until a bound pod runs."""
    run_time: float = 60.0
    """What a pod runs for if it says nothing and nothing keeps it."""
    stop_time: float = 1.0
    """Until a deleted pod has stopped, if its grace period is not shorter."""
    job_backoff: float = 10.0
    """Before a Job replaces a failed pod; doubled with every failure in a row."""
    heartbeat_grace: float = 10.0
    """How long a node may be silent before it counts as lost."""
    leases: bool = True
    """Whether every node has a Lease; without one, how long a node was silent is not known after a restart."""
    gone_node_grace: float = 5.0
    """How long pods outlive a node that was deleted."""
    provisioning_delay: float = 5.0
    """Until a ProvisioningRequest is answered, if it does not say."""
    booking_time: float | None = None
    """How long provisioned capacity is kept for who asked; None: until it is used."""
    capacity_time: float | None = None
    """How long after that it is taken away again; None: never."""
    empty_node_time: float | None = None
    """How long a node made by the autoscaler may stay empty; None: for ever."""


DEFAULTS = Settings()
