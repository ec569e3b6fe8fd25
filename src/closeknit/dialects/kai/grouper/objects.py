"""The groups of everything in a set of files: jobs, pods, PodGroups and the objects that they refer to.

A job whose pods are not among the objects gets those that its controller would create. A pod that names its PodGroup
stays in it. Pods whose owner is missing are grouped by the reference to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ....model.gang import Gang
from ....model.mistake import Mistake
from ....model.topology import Topology
from ...gang_reading import same_name
from ...kueue.jobs.identity import ObjectIdentity
from ...kueue.jobs.train_job import RUNTIMES
from ...own_marks import OF_PODS, Readers, check_marks
from .. import keys
from ..admin import POD_GROUP, QUEUE, TOPOLOGIES, TOPOLOGY
from ..gang import group_of, read_gang
from ..levels import topology_of
from ..queue import check_queue
from .grouping import Grouped, Grouping, deciding, group_pods, key_of
from .kinds import GROUP_KINDS, POD_KEY
from .owners import Chain, Found, OwnerChains
from .plan import Raw

MARKS: Readers = dict.fromkeys((keys.APART, *OF_PODS), str)
"""Our annotations on a PodGroup; those of its job may have been copied to it, and have no effect."""


@dataclass(slots=True)
class GroupedObjects:
    """The groups that were made, then those among the objects; none if there are mistakes.

    `gangs` are what the groups are read as, one for each. `skipped` are the kinds of objects that have no pods.
    """

    groupings: list[Grouping] = field(default_factory=list)
    gangs: list[Gang] = field(default_factory=list)
    topologies: dict[str, Topology] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    warnings: list[Mistake] = field(default_factory=list)
    skipped: dict[str, None] = field(default_factory=dict)

    def take(self, grouped: Grouped) -> None:
        self.groupings += grouped.groupings
        self.mistakes += grouped.mistakes
        self.warnings += grouped.warnings


def group_objects(objects: Iterable[Found], like_kai: bool = False, is_complete: bool = False) -> GroupedObjects:
    """The groups of all pods in these objects, checked against the Topologies among them.

    Unless the objects are `is_complete`, there may be others: then names are checked only if there is a Topology.
    """
    return _Files(objects, like_kai, is_complete).grouped()


class _Files:
    """`sets` are the pods by the owner whose kind decides, with the chain of owners; `named` are those of PodGroups."""

    def __init__(self, objects: Iterable[Found], like_kai: bool, is_complete: bool) -> None:
        self.like_kai, self.is_complete, self.result = like_kai, is_complete, GroupedObjects()
        self.objects = [(one, ObjectIdentity.of(*one)) for one in objects]
        self.owners = OwnerChains(self.objects)
        self.named: dict[tuple[str, str], list[Found]] = {}
        self.sets: dict[int, tuple[Chain, list[Found]]] = {}
        self.have_pods: set[int] = set()
        self.is_unclear = False
        """Whether a Topology has mistakes, so that its levels are not known."""

    def grouped(self) -> GroupedObjects:
        result = self.result
        self._check_names()
        for _, identity in self.objects:
            self._read_admin(identity)
        for one, identity in self.objects:
            if key_of(identity) == POD_KEY:
                self._add(one, identity.namespace, self.owners.chain(one[1], identity.namespace))
        for one, identity in self.objects:
            self._plan(one, identity)
        for chain, pods in self.sets.values():
            result.take(group_pods(chain, pods, self.like_kai, result.topologies))
        self._add_given()
        self._check()
        if result.mistakes:
            result.groupings, result.gangs = [], []
        return result

    def _check_names(self) -> None:
        seen: set[tuple[str, ...]] = set()
        for _, identity in self.objects:
            key, name = (*key_of(identity), identity.namespace, identity.name), identity.field.at("metadata", "name")
            if key in seen and name.given:
                name.wrong(*same_name(identity.kind))
            seen.add(key)

    def _read_admin(self, identity: ObjectIdentity) -> None:
        if key_of(identity) in TOPOLOGIES:
            identity.check_name()
            topology = topology_of(identity.field)
            self.is_unclear |= topology is None
            if topology is not None and (key_of(identity) == TOPOLOGY or topology.name not in self.result.topologies):
                self.result.topologies[topology.name] = topology
        elif key_of(identity) == QUEUE:
            check_queue(identity.field)
        self.result.mistakes += identity.field.report.mistakes

    def _add(self, pod: Found, namespace: str, chain: Chain) -> None:
        self.have_pods |= {id(raw) for _, raw in chain}
        name = group_of(pod[1])
        if name:
            self.named.setdefault((namespace, name), []).append(pod)
            return
        if any(_skips(raw) for _, raw in (*chain, pod)):
            skipped = ObjectIdentity.of(*pod).field
            skipped.warn(f"has {keys.SKIP} and names no PodGroup", f"add the annotation {keys.POD_GROUP}")
            self.result.warnings += skipped.report.warnings
            return
        at = deciding(chain)
        by = chain[at][1] if at < len(chain) else pod[1]
        self.sets.setdefault(id(by), (chain[: at + 1], []))[1].append(pod)

    def _plan(self, one: Found, identity: ObjectIdentity) -> None:
        """Add the pods that a job would get, if none of its own are among the objects."""
        if key_of(identity) in (*TOPOLOGIES, QUEUE, POD_GROUP, POD_KEY) or id(one[1]) in self.have_pods:
            return
        above = self.owners.chain(one[1], identity.namespace)
        if any(raw.get("spec") for _, raw in above):
            return  # the pods of its owner are planned, or there
        inner = self.owners.inside(one, identity)
        job = None if inner is None else ObjectIdentity.of(*inner)
        if inner is None or job is None or key_of(job) not in GROUP_KINDS:
            self.result.mistakes += identity.field.report.mistakes
            if identity.kind not in RUNTIMES:
                self.result.skipped[f"{identity.version}/{identity.kind}"] = None
            return
        chain = (*above, one) if inner is one else (*above, one, inner)
        pods = list(GROUP_KINDS[key_of(job)].pods(job.field))
        for raw in pods:
            self._add((one[0], raw), identity.namespace, chain)
        if not pods:
            job.field.warn("has no pods among the objects, and none can be planned for it", "add its pods")
        self.result.mistakes += job.field.report.mistakes
        self.result.warnings += job.field.report.warnings

    def _add_given(self) -> None:
        """Add the PodGroups among the objects, with the pods that name them."""
        for (where, raw), identity in self.objects:
            if key_of(identity) == POD_GROUP:
                check_marks(identity.field.at("metadata", "annotations"), MARKS, {}, "")
                self.result.warnings += identity.field.report.warnings
                pods = self.named.pop((identity.namespace, identity.name), [])
                self.result.groupings.append(Grouping(raw, tuple(pod for _, pod in pods), "", where))
        for (namespace, name), pods in self.named.items():
            first = ObjectIdentity.of(*pods[0]).field.at("metadata", "annotations", keys.POD_GROUP)
            others = f" ({len(pods)} pods do)" if len(pods) > 1 else ""
            first.warn(f'names PodGroup "{namespace}/{name}"{others}, which is not among the objects', "add it")
            self.result.warnings += first.report.warnings

    def _check(self) -> None:
        """Read every group as a scheduler would; mistakes in one that was made are those of its job."""
        known = self.result.topologies if self.result.topologies or self.is_complete else None
        known = None if self.is_unclear else known
        for one in self.result.groupings:
            pods = [(one.where, pod) for pod in one.pods]
            gang = read_gang((one.where, one.pod_group), pods, known)
            if isinstance(gang, Gang):
                self.result.gangs.append(replace(gang, owner=one.owner))
            else:
                self.result.mistakes += [_of_owner(mistake, one) for mistake in gang]


def _skips(raw: Raw) -> bool:
    return ObjectIdentity.of("", raw).field.at("metadata", "annotations", keys.SKIP).text() == "true"


WRITTEN_IN = {
    "spec.topologyConstraint.topology": keys.TOPOLOGY,
    "spec.topologyConstraint.requiredTopologyLevel": keys.REQUIRED,
    "spec.topologyConstraint.preferredTopologyLevel": keys.PREFERRED,
}
"""The annotation of a job that a field of its PodGroup comes from."""


def _of_owner(mistake: Mistake, grouping: Grouping) -> Mistake:
    """The mistake where its author finds it: in an annotation of the job, or else in the group that was made for it."""
    key = WRITTEN_IN.get(mistake.field, "")
    if grouping.owner and key in (grouping.pod_group["metadata"].get("annotations") or {}):
        return replace(mistake, what=grouping.owner, field=f"metadata.annotations[{key}]")
    return replace(mistake, what=f"{mistake.what} of {grouping.owner}") if grouping.owner else mistake
