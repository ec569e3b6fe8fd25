"""Settings of the whole scheduler, as in Kueue's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from .cluster_queue import Selector
from .numa_settings import NumaSettings
from .request import Order
from .shape import Requirement

FINAL_SHARE = "LessThanOrEqualToFinalShare"
INITIAL_SHARE = "LessThanInitialShare"

NOT_READY_DELAY = 30.0
"""Seconds that a node may be unready before it counts as failed, where pods' tolerations do not decide."""

START_TIMEOUT = 1800.0
"""Seconds that the pods of an admitted workload may take to start, where waitForPodsReady is off."""

SEARCH_STEPS = 20_000
"""Steps that the search for a tree of groups takes before it gives up."""

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label that every namespace has."""
OWN_NAMESPACE = "closeknit-system"


def outside_of_system(own: str = OWN_NAMESPACE) -> Selector:
    """The namespaces in which jobs are managed by default."""
    return Selector((Requirement(NAMESPACE_NAME, "NotIn", ("kube-system", "kueue-system", own)),))


class Transformation(NamedTuple):
    """How quota counts one resource as others: each output is an amount per unit of input, in nano-units."""

    input: str
    outputs: Mapping[str, int]
    retain: bool = True
    multiply_by: str = ""


class PodsReady(NamedTuple):
    """How many seconds the pods of a workload may take to become ready, and the backoff after a timeout.

    `recovery` applies to pods that were ready before: None is the same as `timeout`, 0 means no limit. Without `limit`,
    a workload is requeued any number of times. `blocks`: nothing is admitted until the pods of every admitted workload
    are ready.
    """

    timeout: float = 1800.0
    recovery: float | None = None
    limit: int | None = None
    base: float = 60.0
    longest: float = 3600.0
    blocks: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """`fair_sharing` lists the preemption strategies of fair sharing, in order; empty means classical preemption.

    Without `pods_ready`, pods may take any time to become ready. `keep_finished` is how many seconds finished workloads
    are kept, None means forever; `not_ready_delay` how many seconds a node may be unready before it counts as failed;
    `start_timeout` how many seconds pods may take to start where `pods_ready` is off, 0 means any time.
    `group_order` and `group_steps` are for trees of groups whose objects do not say it; `numa` says how zones decide.
    """

    fair_sharing: tuple[str, ...] = ()
    exclude_prefixes: tuple[str, ...] = ()
    transformations: tuple[Transformation, ...] = ()
    ignore_undeclared: bool = False
    requeue_by: Literal["Eviction", "Creation"] = "Eviction"
    wait_for_tighter: float = 300.0
    pods_ready: PodsReady | None = None
    keep_finished: float | None = None
    not_ready_delay: float = NOT_READY_DELAY
    start_timeout: float = START_TIMEOUT
    group_order: Order = "binpack"
    group_steps: int = SEARCH_STEPS
    numa: NumaSettings = field(default_factory=NumaSettings)

    @property
    def blocks_admission(self) -> bool:
        """Whether nothing is admitted while the pods of an admitted workload are not ready."""
        return self.pods_ready is not None and self.pods_ready.blocks


FAIR = (FINAL_SHARE, INITIAL_SHARE)
