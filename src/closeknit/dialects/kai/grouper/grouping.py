"""From the plan of a kind to PodGroup objects: names, queue, priority class and constraints, as KAI derives them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ....model.mistake import Mistake
from ...field import Field
from ...kueue.jobs.identity import ObjectIdentity
from .. import keys
from ..pod_group import Topologies
from ..spelling import check_keys
from .kinds import ANY_OWNER, GROUP_KINDS, POD_KEY, WRAPPERS
from .plan import GroupKind, GroupPlan, Owned, PlannedGroup, Raw, constraint, labels, name_of, notes
from .segments import given_segments

Found = tuple[str, Raw]
NOT_COPIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class Grouping:
    """A PodGroup, its pods with its name and that of their sub-group, and the owner that it was made for."""

    pod_group: Raw
    pods: tuple[Raw, ...]
    owner: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Grouped:
    """With mistakes there are no groupings."""

    groupings: tuple[Grouping, ...]
    mistakes: tuple[Mistake, ...] = ()
    warnings: tuple[Mistake, ...] = ()


def group_pods(
    chain: Sequence[Found], pods: Iterable[Found], like_kai: bool = False, topologies: Topologies | None = None
) -> Grouped:
    """The groups of pods that one chain of owners has; `chain` begins with the topmost and is empty for bare pods."""
    owners = [ObjectIdentity.of(*found) for found in chain]
    members = [ObjectIdentity.of(*found) for found in pods]
    inner, fields = deciding(chain), tuple(pod.field for pod in members)
    above = tuple(owner.field for owner in owners[:inner])
    if inner < len(owners):
        owned = Owned(owners[inner].field, fields, above, like_kai, topologies or {})
        groupings = _groups(owned, _kind(owners[inner]))
    else:
        lone = [Owned(pod, (pod,), above, like_kai, topologies or {}) for pod in fields]
        groupings = [one for owned in lone for one in _groups(owned, GROUP_KINDS[POD_KEY])]
    reports = [one.field.report for one in (*owners, *members)]
    mistakes = tuple(mistake for report in reports for mistake in report.mistakes)
    warnings = tuple(warning for report in reports for warning in report.warnings)
    return Grouped(() if mistakes else tuple(groupings), mistakes, warnings)


def key_of(identity: ObjectIdentity) -> tuple[str, str]:
    return identity.group, identity.kind


def deciding(chain: Sequence[Found]) -> int:
    """The position of the topmost owner that is no wrapper; the length of the chain if there is none."""
    kinds = (key_of(ObjectIdentity.of(*found)) for found in chain)
    return next((at for at, kind in enumerate(kinds) if kind not in WRAPPERS), len(chain))


def _kind(owner: ObjectIdentity) -> GroupKind:
    kind = GROUP_KINDS.get(key_of(owner), ANY_OWNER)
    if kind is ANY_OWNER or owner.field.at("spec").given:
        return kind
    owner.field.warn("is not among the objects: its pods are one group, of which one has to run", "add it")
    return ANY_OWNER


def _groups(owned: Owned, kind: GroupKind) -> list[Grouping]:
    _check_segments(owned, kind)
    naming = kind.naming(owned)
    members: dict[str, list[Field]] = {}
    for pod in owned.pods:
        members.setdefault(naming(pod), []).append(pod)
    return [_grouping(replace(owned, pods=tuple(pods)), kind, name) for name, pods in members.items()]


def _check_segments(owned: Owned, kind: GroupKind) -> None:
    """Refuse segments of pods without an index; KAI ignores them on most kinds."""
    given = given_segments(owned)
    if given is None or kind.kai_segments:
        return
    what = owned.owner.at("kind").text()
    if owned.like_kai:
        given.warn(f"has no effect in KAI on a {what}", "remove it")
    elif not kind.numbered:
        given.wrong(f"needs pods with an index, and those of a {what} have none", "remove it")


def _grouping(owned: Owned, kind: GroupKind, name: str) -> Grouping:
    plan = kind.plan(owned)
    _check_unread(owned, kind)
    for thing in (owned.owner, *owned.above, owned.pods[0]):
        check_keys(thing.at("metadata"))
    group = {
        "apiVersion": keys.POD_GROUP_VERSION,
        "kind": "PodGroup",
        "metadata": _metadata(owned, kind, plan, name),
        "spec": _spec(owned, kind, plan),
    }
    known = {entry.name for entry in plan.entries} - {entry.parent for entry in plan.entries}
    pods = tuple(_marked(pod, name, _joined(pod, plan, known)) for pod in owned.pods)
    return Grouping(group, pods, owned.owner.report.what, owned.owner.report.where)


def _check_unread(owned: Owned, kind: GroupKind) -> None:
    """Warn of a placement on the pods: most kinds are read on the owner only."""
    if owned.owner is owned.pods[0] or kind.by_template:
        return
    for key in (keys.REQUIRED, keys.PREFERRED, keys.MIN_MEMBER):
        note = notes(owned.pods[0]).at(key)
        if note.text() and note.text() != notes(owned.owner).at(key).text():
            note.warn("has no effect on the pods of a job", f"put it on {owned.owner.report.what}")


def _joined(pod: Field, plan: GroupPlan, known: set[str]) -> str:
    """The sub-group of a pod; empty, with a warning, if it fits none."""
    name = plan.join(pod)
    if name in known or not plan.entries:
        return name
    pod.warn("joins no sub-group of its group", "check the labels that its controller sets")
    return ""


def _metadata(owned: Owned, kind: GroupKind, plan: GroupPlan, name: str) -> Raw:
    marks = {key: value for key, value in notes(owned.owner).mapping().items() if key != NOT_COPIED}
    if plan.apart:
        marks[keys.APART] = plan.apart
    namespace = owned.owner.at("metadata", "namespace").text() or owned.pods[0].at("metadata", "namespace").text()
    given: Raw = {"name": name, "namespace": namespace or "default"}
    if owned_labels := labels(owned.owner).mapping():
        given["labels"] = dict(owned_labels)
    if marks:
        given["annotations"] = marks
    references = _references(owned.pods[0] if kind.of_pod else owned.owner)
    return {**given, "ownerReferences": references} if references else given


def _references(owner: Field) -> list[Raw]:
    """The reference to the owner; none to one that does not exist yet, since it needs the uid."""
    uid = owner.at("metadata", "uid").text()
    reference = {key: owner.at(key).text() for key in ("apiVersion", "kind")}
    return [{**reference, "name": name_of(owner), "uid": uid}] if uid else []


def _spec(owned: Owned, kind: GroupKind, plan: GroupPlan) -> Raw:
    levels = [owned.note(key).text() for key in (keys.TOPOLOGY, keys.REQUIRED, keys.PREFERRED)]
    bounds = {**(constraint(*levels) or {}), **(plan.constraint or {})}
    if any(levels[1:]) and "topology" not in bounds:
        level = next(note for key in (keys.REQUIRED, keys.PREFERRED) if (note := owned.note(key)).text())
        level.wrong("names a level without a topology", f"add the annotation {keys.TOPOLOGY}")
    spec: dict[str, Any] = {
        "minMember": plan.min_member,
        "minSubGroup": plan.min_sub_group,
        "queue": _queue(owned),
        "priorityClassName": _priority_class(owned, kind),
        "preemptibility": _preemptibility(owned),
        "topologyConstraint": bounds or None,
        "subGroups": [_entry(entry) for entry in plan.entries] or None,
    }
    return {key: value for key, value in spec.items() if value is not None}


def _entry(entry: PlannedGroup) -> Raw:
    fields = {
        "name": entry.name,
        "parent": entry.parent or None,
        "minMember": entry.min_member,
        "minSubGroup": entry.min_sub_group,
        "topologyConstraint": entry.constraint,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _label(owned: Owned, key: str) -> Field | None:
    """A label of the owner, of a wrapper above it, or of the pod."""
    places = (owned.owner, *reversed(owned.above), owned.pods[0])
    return next((label for place in places if (label := labels(place).at(key)).text()), None)


def _queue(owned: Owned) -> str:
    label = _label(owned, keys.QUEUE) or _label(owned, keys.PROJECT)
    return keys.DEFAULT_QUEUE if label is None else label.text()


def _priority_class(owned: Owned, kind: GroupKind) -> str:
    own = "" if kind.priority_at is None else kind.priority_at(owned.owner).text()
    label = _label(owned, keys.PRIORITY_CLASS)
    named = label.text() if label is not None else owned.pods[0].at("spec", "priorityClassName").text()
    return own or named or kind.priority


def _preemptibility(owned: Owned) -> str | None:
    label = _label(owned, keys.PREEMPTIBILITY)
    if label is None or label.text() in keys.PREEMPTIBLE_WORDS:
        return None if label is None else label.text()
    label.wrong(f'is "{label.text()}"', f"use one of: {', '.join(keys.PREEMPTIBLE_WORDS)}")
    return None


def _marked(pod: Field, group: str, sub_group: str) -> Raw:
    """The pod with the annotation that names its group, and the label that names its sub-group."""
    others = {key: value for key, value in labels(pod).mapping().items() if key != keys.SUB_GROUP}
    metadata = {
        **pod.at("metadata").mapping(),
        "annotations": {**notes(pod).mapping(), keys.POD_GROUP: group},
        "labels": {**others, keys.SUB_GROUP: sub_group} if sub_group else others,
    }
    return {**pod.mapping(), "metadata": metadata}
