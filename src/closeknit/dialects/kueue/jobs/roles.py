"""A role is a pod set as its job describes it: a name, a number of pods, and the field of the pod template.

A kind of job only has to list its roles; reading and validating their templates and building pod sets is the same for
all, and is done here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto

from ....model.gates import Gates
from ....model.request import PodSet, Ranks
from ...field import INT32_MAX, Field, Report
from ...pod_template import read_template
from ..keys import MAIN as MAIN
from ..per_replica import own_mistakes, with_own_keys
from ..topology_request import Grouped, build, with_current_keys
from ..validation import Member, count_mistakes, group_mistakes, template_mistakes

MAX_POD_SETS = 18
NO_RANKS = Ranks()

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class ValidationRules(Flag):
    """The rules of `validation` that apply to a kind, besides 1 to 6, which apply to all."""

    NONE = 0
    COUNT = auto()
    """Rule 7: slices and the number of pods."""
    GROUPS = auto()
    """Rule 8: leaders and workers."""
    ELASTIC = auto()
    """Rule 9: no levels in elastic jobs."""


@dataclass(frozen=True, slots=True)
class Role:
    """`ranked` is false for pods that only start or submit the work: they have no rank among its processes.

    `annotated_at` is the path to the annotations, if they are not in the metadata of the template.
    """

    name: str
    count: int
    template: Field
    ranks: Ranks = NO_RANKS
    ranked: bool = True
    annotated_at: str = ""

    def annotations(self, gates: Gates) -> Mapping[str, str]:
        """The annotations of the template; none if topology-aware scheduling is disabled."""
        annotations = self.template.at("metadata", "annotations").strings()
        return with_current_keys(annotations, gates) if "TopologyAwareScheduling" in gates else {}

    @property
    def at(self) -> str:
        """The path to the annotations."""
        return self.annotated_at or self.template.at("metadata", "annotations").path


def pod_sets(
    roles: Sequence[Role], rules: ValidationRules, gates: Gates, report: Report, order: str = ""
) -> list[Grouped]:
    """The pod sets of these roles; reports mistakes and returns none if the job is invalid.

    `order` is the order of placement that the job itself asks for.
    """
    members = [Member(role.name, role.count, role.annotations(gates), role.at) for role in roles]
    for member in members:
        report.add(template_mistakes(member.annotations, gates, member.at))
        bounded = ValidationRules.COUNT in rules
        report.add(count_mistakes(member.annotations, member.count, gates, member.at, bounded))
    for role, member in zip(roles, members, strict=True):
        report.add(own_mistakes(member.annotations, role.count, role.ranks, gates, member.at))
    if ValidationRules.GROUPS in rules:
        report.add(group_mistakes(members))
    shapes = [read_template(role.template) for role in roles]
    if report:
        return []
    sets: list[Grouped] = []
    for role, member, shape in zip(roles, members, shapes, strict=True):
        assert shape is not None  # otherwise the report has mistakes
        request = build(member.annotations, gates, role.ranks) if "TopologyAwareScheduling" in gates else None
        if request is None:
            sets.append((PodSet(role.name, role.count, shape), None))
        else:
            constraint = with_own_keys(request.constraint(), member.annotations, role.count, role.ranks, order, gates)
            pod_set = PodSet(role.name, role.count, shape, constraint, role.ranks)
            sets.append((pod_set, request.pod_set_group_name))
    return sets


def check_names(names: Sequence[Field]) -> None:
    """Check that the names of pod sets are valid and unique, and that a Workload allows as many."""
    if len(names) > MAX_POD_SETS:
        names[MAX_POD_SETS].wrong(f"is pod set {MAX_POD_SETS + 1}", f"a Workload allows at most {MAX_POD_SETS}")
    seen: Counter[str] = Counter()
    for field in names:
        name = field.text().lower()
        if not name:
            field.wrong("is missing", "use a unique name for every pod set")
        elif not _DNS_LABEL.fullmatch(name):
            field.wrong(f'is "{name}"', "use at most 63 lower-case letters, digits and dashes")
        elif seen[name]:
            field.wrong(f'is "{name}", the name of another pod set', "use a unique name for every pod set")
        seen[name] += 1


def product(left: Field, times: int, default: int = 1) -> int:
    """The number of pods in `left` copies of `times` pods each."""
    copies = left.count(default)
    if copies * times > INT32_MAX:
        left.wrong(f"makes {copies * times} pods", f"a pod set allows at most {INT32_MAX}")
        return 0
    return copies * times
