"""Times of the embedded host: grace periods, delays and limits of the stand-ins, in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StandinSettings:
    """The defaults are those of `closeknit up`; a real cluster's times are longer."""

    start_time: float = 1.0
    """Until a bound pod runs, by default."""
    admission_time: float = 0.2
    """Until a kubelet admits a bound pod, on nodes with NUMA zones. Elsewhere every pod is admitted."""
    run_time: float = 60.0
    """How long a pod runs if it has no annotation and is not of a serving kind."""
    stop_time: float = 1.0
    """Until a deleted pod has stopped, if its grace period is not shorter."""
    job_backoff: float = 10.0
    """Backoff before a Job replaces a failed pod; doubled with every consecutive failure."""
    heartbeat_grace: float = 10.0
    """How long a node may be silent before it counts as lost."""
    leases: bool = True
    """Whether every node has a Lease; without one the duration of a node's silence is lost at a restart."""
    gone_node_grace: float = 5.0
    """How long pods outlive a deleted node."""
    provisioning_delay: float = 5.0
    """Until a ProvisioningRequest is answered, by default."""
    booking_time: float | None = None
    """How long provisioned capacity is booked; None: until it is used."""
    capacity_time: float | None = None
    """How long after provisioning the capacity is revoked; None: never."""
    empty_node_time: float | None = None
    """How long a node of the autoscaler may stay empty; None: without limit."""


DEFAULTS = StandinSettings()
