"""What a kind of job has to say about the groups of its pods, as values; `grouping` writes the PodGroups from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...field import INT32_MAX, Field, shown
from ..keys import PREFERRED, REQUIRED, TOPOLOGY, TRAIN
from ..pod_group import Topologies

Raw = dict[str, Any]
MOST_PODS = 100_000
"""The most pods that are planned for one job."""
MOST_COPIES = 10_000
"""The most groups that are made for one job."""


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """A sub-group to write: one with children has `min_sub_group`, one with pods `min_member`."""

    name: str
    parent: str = ""
    min_member: int | None = None
    min_sub_group: int | None = None
    constraint: Raw | None = None


def in_group(_pod: Field) -> str:
    """A pod that is directly in the group."""
    return ""


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """A group: its minimum and sub-groups, and which of these a pod joins (empty: none).

    `apart` is the value of our annotation. `constraint` is added to what the annotations of the owner say.
    """

    min_member: int | None = None
    min_sub_group: int | None = None
    entries: tuple[PlannedGroup, ...] = ()
    join: Callable[[Field], str] = in_group
    apart: str = ""
    constraint: Raw | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Owned:
    """The object whose kind decides, the pods that it owns, and the wrappers above it, which are looked through."""

    owner: Field
    pods: tuple[Field, ...]
    above: tuple[Field, ...] = ()
    like_kai: bool = False
    topologies: Topologies = field(default_factory=dict)

    @property
    def whole(self) -> str:
        """The name of a group for all pods of the owner."""
        return group_name(self.owner, self.owner)

    @property
    def places(self) -> tuple[Field, ...]:
        """The annotations of the owner, then of the wrappers above it."""
        return (notes(self.owner), *map(notes, reversed(self.above)))

    def note(self, key: str) -> Field:
        """An annotation of the owner, or of a wrapper above it."""
        return first_note(key, *self.places)


def group_name(named: Field, owner: Field) -> str:
    """The name in KAI's form, pg-NAME-UID; an object that does not exist yet has no uid, and its group neither."""
    uid = owner.at("metadata", "uid").text()
    return f"pg-{name_of(named)}{'-' if uid else ''}{uid}"


Naming = Callable[[Field], str]
"""The name of a pod's group."""


def one_for_all(owned: Owned) -> Naming:
    return lambda _pod: owned.whole


def no_pods(_owner: Field) -> Iterator[Raw]:
    return iter(())


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GroupKind:
    """How the pods of a kind are grouped.

    `naming` gives each pod the name of its group: pods with the same name are together, and `plan` describes their
    group. `pods` are those that the object would get. `numbered`: its pods have an index, so that they can be divided
    into segments; with `kai_segments` KAI does that too. `priority` is the class of groups that name none;
    `priority_at` returns a field of this kind that names one. `of_pod`: the group belongs to its pod and not to the
    owner. `by_template`: placements on the pod templates are read.
    """

    plan: Callable[[Owned], GroupPlan]
    naming: Callable[[Owned], Naming] = one_for_all
    pods: Callable[[Field], Iterator[Raw]] = no_pods
    numbered: bool = False
    kai_segments: bool = False
    priority: str = TRAIN
    priority_at: Callable[[Field], Field] | None = None
    of_pod: bool = False
    by_template: bool = False


def notes(thing: Field) -> Field:
    return thing.at("metadata", "annotations")


def labels(thing: Field) -> Field:
    return thing.at("metadata", "labels")


def first_note(key: str, *places: Field) -> Field:
    """The first of these annotations that is not empty, or else the last place for it."""
    fields = [place.at(key) for place in places]
    return next((one for one in fields if one.text()), fields[-1])


def constraint(topology: str, required: str, preferred: str) -> Raw | None:
    """A `topologyConstraint` without what is not set; None if nothing is."""
    given = {"topology": topology, "requiredTopologyLevel": required, "preferredTopologyLevel": preferred}
    return {key: value for key, value in given.items() if value} or None


def placement(topology: Field, *places: Field) -> Raw | None:
    """The constraint in the annotations of these places; None without a level. `topology` is where a name may be."""
    required, preferred = (first_note(key, *places).text() for key in (REQUIRED, PREFERRED))
    if not required and not preferred:
        return None
    return constraint(first_note(TOPOLOGY, *places).text() or topology.text(), required, preferred)


def whole_number(note: Field, least: int) -> int | None:
    """The number in an annotation; reports a mistake and returns None if it is not one, too small or too large."""
    text = note.text().strip()
    value = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(INT32_MAX)) else -1
    if least <= value <= INT32_MAX:
        return value
    note.wrong(f"is {shown(note.text())}", f"use a whole number from {least} to {INT32_MAX}, in quotes")
    return None


def check_minimum(field: Field, least: int, pods: int) -> None:
    """Warn of a minimum that the pods of the job can never reach; it is written as it is."""
    if least > pods:
        field.warn(f"is {least}, but there are only {pods} pods: the group can never start", f"use at most {pods}")


def number_of(pod: Field, *keys: str) -> int | None:
    """The index of a pod, from the first of these labels or annotations; reports a mistake if there is none."""
    found = [one for key in keys for one in (labels(pod).at(key), notes(pod).at(key)) if one.given]
    if not found:
        labels(pod).at(keys[0]).wrong("is missing", "segments need the index of every pod")
        return None
    return whole_number(found[0], 0)


def planned(owner: Field, template: Field, name: str, marks: Mapping[str, str]) -> Raw:
    """A pod of this template, as the controller of the owner would create it."""
    metadata = {
        "name": name,
        "namespace": owner.at("metadata", "namespace").text() or "default",
        "labels": {**labels(template).mapping(), **marks},
        "annotations": notes(template).mapping(),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.at("spec").mapping()}


def name_of(thing: Field) -> str:
    """The name of an object, or the beginning of the one that it will get."""
    return thing.at("metadata", "name").text() or thing.at("metadata", "generateName").text().rstrip("-.")
