"""What starting a job injects into its pod templates, and how stopping removes it.

An `Info` is what one pod set gets: the node labels and tolerations of its flavors, labels and annotations that identify
its pods, the topology gate if they are to be placed, and the updates of admission checks. It is merged into a template;
a key that has another value there is a conflict, since either could be right. Affinity does not change.

    template  nodeSelector {zone: a}             info  selector {pool: big}
    injected  nodeSelector {zone: a, pool: big}        restored to {zone: a}

A Workload keeps the templates as they were, so a stopped job is exactly what was submitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ....model.flavor import Flavor
from ....model.gates import Gates
from ....model.label_names import is_label_value
from ....model.request import Constraint, Constraints
from ....model.shape import Toleration
from ....model.workload import Check, PodSetAssignment, PodSetUpdate, Workload
from .. import keys
from . import marks
from .raw import Raw, items, mapping

_METADATA = ("annotations", "labels")
_SPEC = ("nodeSelector", "tolerations", "schedulingGates")


@dataclass(frozen=True, slots=True)
class Info:
    """What one pod set gets; `count` is the admitted number of pods."""

    name: str
    count: int
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    gates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StartConflict:
    """Why a job cannot start. `passes`: the conflict is temporary, such as a flavor that is not in the cache yet."""

    text: str
    passes: bool = False


def info_of(
    workload: Workload, flavors: Mapping[str, Flavor], gates: Gates, family: str = ""
) -> tuple[Info, ...] | StartConflict:
    """What each pod set of an admitted workload gets, in the order of its pod sets.

    `family` is the name that all slices of an elastic workload share; "" for one that is not elastic.
    """
    admission = workload.status.admission
    if admission is None:
        return StartConflict("the workload is not admitted", passes=True)
    given = {one.name: one for one in admission.pod_sets}
    shared = _shared(workload, admission.queue, gates, family)
    infos = []
    for part in workload.parts:
        one = given.get(part.name)
        if one is None:
            return StartConflict(f"podset {part.name} has no assignment", passes=True)
        info = _from_assignment(one, workload.request.constraints(part.name), flavors, shared, gates)
        if not isinstance(info, StartConflict):
            info = _with_updates(info, workload.status.checks)
        if isinstance(info, StartConflict):
            return info
        infos.append(info)
    return tuple(infos)


def _shared(workload: Workload, queue: str, gates: Gates, family: str) -> tuple[dict[str, str], dict[str, str]]:
    """Labels and annotations that all pods of a workload get."""
    named = {marks.LOCAL_QUEUE: workload.queue, marks.CLUSTER_QUEUE: queue}
    labels = {key: name for key, name in named.items() if name and is_label_value(name)}
    annotations = {keys.WORKLOAD: workload.name} if "TopologyAwareScheduling" in gates else {}
    if family:
        annotations[marks.SLICE_NAME] = family
    return labels, annotations


def _from_assignment(
    given: PodSetAssignment,
    wishes: Constraints,
    flavors: Mapping[str, Flavor],
    shared: tuple[dict[str, str], dict[str, str]],
    gates: Gates,
) -> Info | StartConflict:
    labels, annotations = {**shared[0], marks.POD_SET: given.name}, dict(shared[1])
    selector: dict[str, str] = {}
    tolerations: list[Toleration] = []
    for name in sorted(set(given.flavors.values())):
        flavor = flavors.get(name)
        if flavor is None:
            return StartConflict(f'ResourceFlavor "{name}" not found', passes=True)
        selector |= flavor.labels
        tolerations += flavor.tolerations
    placed = given.topology is not None and "TopologyAwareScheduling" in gates
    if placed and all(map(_says_nothing, wishes)):
        annotations[keys.UNCONSTRAINED] = "true"
    gate = (marks.TOPOLOGY_GATE,) if placed else ()
    return Info(given.name, given.count, labels, annotations, selector, _distinct(tolerations), gate)


def _says_nothing(wish: Constraint) -> bool:
    """Whether a constraint has no required, preferred or unconstrained level, but slices alone."""
    return (wish.required, wish.preferred, wish.unconstrained) == (None, None, None)


def _with_updates(info: Info, checks: Iterable[Check]) -> Info | StartConflict:
    merged: Info | StartConflict = info
    for check in checks:
        for update in check.updates:
            if update.name == info.name and isinstance(merged, Info):
                merged = _updated(merged, update)
    return merged


def _updated(info: Info, update: PodSetUpdate) -> Info | StartConflict:
    added = Info(info.name, info.count, update.labels, update.annotations, update.selector, update.tolerations)
    return plus(info, added)


def plus(info: Info, added: Info) -> Info | StartConflict:
    """The merge of two infos; count and name are those of the first."""
    for what, before, after in (
        ("annotations", info.annotations, added.annotations),
        ("labels", info.labels, added.labels),
        ("nodeSelector", info.selector, added.selector),
    ):
        if conflict := _conflict(what, before, after):
            return conflict
    return Info(
        info.name,
        info.count,
        {**info.labels, **added.labels},
        {**info.annotations, **added.annotations},
        {**info.selector, **added.selector},
        _distinct((*info.tolerations, *added.tolerations)),
        tuple(dict.fromkeys((*info.gates, *added.gates))),
    )


def injected(template: Raw, info: Info) -> Raw | StartConflict:
    """The template with everything that `info` adds; idempotent."""
    metadata, spec = mapping(template, "metadata"), mapping(template, "spec")
    for what, before, added in (
        ("annotations", mapping(metadata, "annotations"), info.annotations),
        ("labels", mapping(metadata, "labels"), info.labels),
        ("nodeSelector", mapping(spec, "nodeSelector"), info.selector),
    ):
        if conflict := _conflict(what, before, added):
            return conflict
    return {
        **template,
        "metadata": {
            **metadata,
            **_merged(metadata, "annotations", info.annotations),
            **_merged(metadata, "labels", info.labels),
        },
        "spec": {
            **spec,
            **_merged(spec, "nodeSelector", info.selector),
            **_listed(spec, "tolerations", _new_tolerations(spec, info.tolerations)),
            **_listed(spec, "schedulingGates", _new_gates(spec, info.gates)),
        },
    }


def restored(template: Raw, original: Raw) -> Raw:
    """The template with the fields that `injected` changes reset to those of the original."""
    return {
        key: value
        for key, value in {
            **template,
            "metadata": _as_before(template.get("metadata"), original.get("metadata"), _METADATA),
            "spec": _as_before(template.get("spec"), original.get("spec"), _SPEC),
        }.items()
        if key in original or value or key not in ("metadata", "spec")
    }


def _as_before(now: Raw | None, before: Raw | None, touched: tuple[str, ...]) -> Raw | None:
    kept = {key: value for key, value in (now or {}).items() if key not in touched}
    kept |= {key: value for key, value in (before or {}).items() if key in touched}
    return None if before is None and not kept else kept


def _conflict(what: str, before: Mapping[str, str], added: Mapping[str, str]) -> StartConflict | None:
    for key, value in added.items():
        if before.get(key, value) != value:
            values = f"conflict for key={key}, value1={before[key]}, value2={value}"
            return StartConflict(f"invalid admission check PodSetUpdate: conflict for {what}: {values}")
    return None


def _merged(tree: Raw, key: str, added: Mapping[str, str]) -> Raw:
    return {key: {**mapping(tree, key), **added}} if added else {}


def _listed(tree: Raw, key: str, added: list[Raw]) -> Raw:
    return {key: [*items(tree, key), *added]} if added else {}


def _new_gates(spec: Raw, gates: tuple[str, ...]) -> list[Raw]:
    there = {one.get("name") for one in items(spec, "schedulingGates")}
    return [{"name": name} for name in gates if name not in there]


def _new_tolerations(spec: Raw, tolerations: tuple[Toleration, ...]) -> list[Raw]:
    there = {_key(one) for one in items(spec, "tolerations")}
    wire = [toleration_form(one) for one in tolerations]
    return [one for one in wire if _key(one) not in there]


def _key(wire: Raw) -> tuple[object, ...]:
    """The identity of a toleration; the operator is Equal by default."""
    texts = (wire.get("key") or "", wire.get("operator") or "Equal", wire.get("value") or "", wire.get("effect") or "")
    return (*texts, wire.get("tolerationSeconds"))


def toleration_form(one: Toleration) -> Raw:
    """A toleration on the wire, without empty fields."""
    wire = {"key": one.key, "operator": one.operator, "value": one.value, "effect": one.effect}
    seconds = {} if one.seconds is None else {"tolerationSeconds": one.seconds}
    return {key: value for key, value in wire.items() if value} | seconds


def _distinct(tolerations: Iterable[Toleration]) -> tuple[Toleration, ...]:
    """Each toleration once, at its first position."""
    found: dict[tuple[object, ...], Toleration] = {}
    for one in tolerations:
        found.setdefault(_key(toleration_form(one)), one)
    return tuple(found.values())
