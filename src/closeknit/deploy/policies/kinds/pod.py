"""Pods: they get their scheduling gates at creation, since Kubernetes does not allow adding one later.

This applies to pods without an owner that waits itself, and to pods of marked templates. Only the former get a
finalizer, which the controller removes once they are counted; the latter are replaced by their owners. The role hash,
which defines the pod sets of a group, cannot be computed in CEL; the controller does it.
"""

from __future__ import annotations

from dataclasses import replace

from ....cluster.embedded.rules.settings import AdmissionSettings
from ....cluster.kinds import POD
from ....dialects.cel import (
    ANNOTATIONS,
    IS_UPDATE,
    PolicyCheck,
    all_of,
    any_of,
    at,
    has_label,
    has_note,
    is_count,
    is_name,
    label,
    negated,
    note,
    one_set,
    text,
    when,
)
from ....dialects.kueue import keys
from ....dialects.kueue.jobs import marks
from ....dialects.kueue.jobs.roles import ValidationRules
from ..conditions import IS_FRESH, IS_OF_NODE, IS_STAYING, PARENT, UNTOUCHED, belongs, is_held, parent_is_ours
from ..held import judging
from ..marking import only_if, put, put_all
from ..policy import Mutating, Validating
from ..standing import field_of

_GATES = "object.spec.?schedulingGates.orValue([])"
_FINALIZERS = at("metadata.finalizers", "[]")
_GATED = f"{_GATES}.exists(g, g.name == {text(marks.ADMISSION_GATE)})"
MOVABLE = "not-of-a-node"
BOTH = "both the name and the total count of a group should be set"


def ours(settings: AdmissionSettings) -> str:
    """Whether the policies apply to a pod: by its template, or by itself."""
    alone = negated(belongs(settings)) if "pod" in settings.frameworks else "false"
    return f"{PARENT} ? {parent_is_ours(settings)} : {alone}"


def mutating(settings: AdmissionSettings) -> Mutating:
    held = any_of(PARENT, is_held(settings))
    placed = "TopologyAwareScheduling" in settings.gates
    gates = [marks.ADMISSION_GATE, *([marks.TOPOLOGY_GATE] if placed else [])]
    listed = " + ".join([_GATES, *(_missing_gate(one) for one in gates)])
    patches = [
        put_all(("metadata", "labels"), {marks.MANAGED: text("true")}),
        put(("spec", "schedulingGates"), listed),
        only_if(
            all_of(negated(PARENT), f"!({text(marks.MANAGED)} in {_FINALIZERS})"),
            put(("metadata", "finalizers"), f"{_FINALIZERS} + [{text(marks.MANAGED)}]"),
        ),
    ]
    if placed:
        patches.append(only_if(has_note(marks.INDEX_FROM), put(("metadata", "labels", keys.POD_GROUP_INDEX), _index())))
    conditions = {"ours": ours(settings), MOVABLE: negated(IS_OF_NODE)}
    return Mutating(POD.plural, [POD], conditions=conditions, patches=only_if(held, *patches))


def _missing_gate(name: str) -> str:
    return f'({_GATES}.exists(g, g.name == {text(name)}) ? [] : [{{"name": {text(name)}}}])'


def _index() -> str:
    """The value of the label that the annotation refers to."""
    return f'object.metadata.?labels[?{note(marks.INDEX_FROM)}].orValue("")'


def validating(settings: AdmissionSettings) -> Validating:
    notes = one_set("object", text(ANNOTATIONS.lstrip(".")))
    own = any_of(PARENT, negated(belongs(settings)))
    conditions = {UNTOUCHED: IS_STAYING, "changed": IS_FRESH, "ours": own, MOVABLE: negated(IS_OF_NODE)}
    found = judging(settings, POD, negated(_GATED), ValidationRules.NONE, f"[{notes}]", [*_group(), *_changes()])
    return replace(found, conditions=conditions)


def _group() -> list[PolicyCheck]:
    """The rules for groups: a group has a name and a number of pods."""
    by_label, by_note = label(keys.POD_GROUP), note(keys.POD_GROUP)
    name = f"({has_label(keys.POD_GROUP)} ? {by_label} : {by_note})"
    count, counted = note(keys.POD_GROUP_COUNT), has_note(keys.POD_GROUP_COUNT)
    told = "is not a valid name; use lower-case letters, digits, '-' and '.'"
    total = field_of(keys.POD_GROUP_COUNT, "annotations")
    return [
        PolicyCheck(
            when(has_label(marks.MANAGED), f'{label(marks.MANAGED)} == "true"'),
            field_of(marks.MANAGED),
            "can only be 'true'",
        ),
        PolicyCheck(any_of(f'{by_label} == ""', is_name(by_label)), field_of(keys.POD_GROUP), told),
        PolicyCheck(
            any_of(has_label(keys.POD_GROUP), f'{by_note} == ""', is_name(by_note)),
            field_of(keys.POD_GROUP, "annotations"),
            told,
        ),
        PolicyCheck(when(f'{name} != ""', counted), total, BOTH),
        PolicyCheck(when(counted, f'{name} != ""'), field_of(keys.POD_GROUP), BOTH),
        PolicyCheck(when(counted, is_count(count)), total, "must be a whole number above 0"),
    ]


def _changes() -> list[PolicyCheck]:
    """The rules for updates: a pod stays in its group, and an unretriable group stays unretriable."""
    was = has_label(keys.POD_GROUP, "oldObject")
    gave_up = f'{note(marks.RETRIABLE, "oldObject")} == "false"'
    return [
        PolicyCheck(
            when(all_of(IS_UPDATE, was), f"{label(keys.POD_GROUP)} == {label(keys.POD_GROUP, 'oldObject')}"),
            field_of(keys.POD_GROUP),
            "cannot be changed; create a new pod",
        ),
        PolicyCheck(
            when(all_of(IS_UPDATE, gave_up), f'{note(marks.RETRIABLE)} == "false"'),
            field_of(marks.RETRIABLE, "annotations"),
            "an unretriable group cannot become retriable",
        ),
    ]
