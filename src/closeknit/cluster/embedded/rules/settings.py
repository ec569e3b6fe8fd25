"""The administrator's settings of the rules."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....dialects.kueue.jobs.kinds import FRAMEWORKS
from ....model.cluster_queue import Selector
from ....model.gates import Gates
from ....model.settings import outside_of_system


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """`namespaces` selects where jobs are managed; `all_jobs`: those without a queue are held too.

    `toleration_seconds` is how long a pod stays on a lost node, unless it has its own toleration. `trusted` are
    accounts besides the controller's that may write what it decides.
    """

    gates: Gates = field(default_factory=Gates.profile)
    frameworks: frozenset[str] = FRAMEWORKS
    namespaces: Selector = field(default_factory=outside_of_system)
    all_jobs: bool = False
    toleration_seconds: int = 300
    trusted: tuple[str, ...] = ()
