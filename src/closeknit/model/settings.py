"""What an administrator sets for the whole scheduler, as Kueue's configuration has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .cluster_queue import Selector
from .shape import Requirement

FINAL_SHARE = "LessThanOrEqualToFinalShare"
INITIAL_SHARE = "LessThanInitialShare"

NOT_READY_DELAY = 30.0
"""Seconds for which a node may be unready before it counts as failed, where pods have no say in it."""

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label that every namespace has."""
OWN_NAMESPACE = "closeknit-system"


def outside_of_system(own: str = OWN_NAMESPACE) -> Selector:
    """The namespaces in which jobs are managed unless somebody says otherwise."""
    return Selector((Requirement(NAMESPACE_NAME, "NotIn", ("kube-system", "kueue-system", own)),))


class Transformation(NamedTuple):
    """One resource counted as others: each output is so much per unit of input, in nano-units."""

    input: str
    outputs: Mapping[str, int]
    retain: bool = True
    multiply_by: str = ""


class PodsReady(NamedTuple):
    """How long, in seconds, the pods of a workload may take to be ready, and how it waits after that took too long.

    `recovery` is for pods that were ready before; None is the same as `timeout`, 0 is for ever. `limit` None: it may be
    put back into line again and again.
    """

    timeout: float = 1800.0
    recovery: float | None = None
    limit: int | None = None
    base: float = 60.0
    longest: float = 3600.0


@dataclass(frozen=True, slots=True)
class Settings:
    """`fair_sharing` names the strategies by which victims may be chosen, in order; empty is classical preemption.

    `pods_ready` None: nobody waits for pods. `keep_finished`: seconds for which a workload that has finished is kept,
    None for ever. `not_ready_delay`: seconds for which a node may be unready.
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


FAIR = (FINAL_SHARE, INITIAL_SHARE)
