"""Which fields of a pod may change: images, the deadline, additional tolerations, and gates, which can only be removed.

While the pod is gated its scheduling directives can be narrowed: labels added to its node selector, expressions to the
terms of its required node affinity. Preferred affinity may change freely.
"""

from __future__ import annotations

from typing import Any

from ....dialects.field import Field
from ....dialects.pod_choice import REQUIRED
from ...port import Raw
from .causes import Causes
from .pods import with_tolerations
from .settings import AdmissionSettings

ALLOWED = (
    "only `image` of containers, `activeDeadlineSeconds`, added `tolerations`, removed `schedulingGates` "
    "and, while gated, `nodeSelector` and node affinity may change in a pod"
)


def prepared_pod(settings: AdmissionSettings, old: Raw, new: Raw) -> Raw:
    """Keep what admission decided at creation."""
    before, spec = old["spec"], {**new["spec"]}
    for key in ("priority", "preemptionPolicy", "enableServiceLinks"):
        if key in before:
            spec.setdefault(key, before[key])
    spec["tolerations"] = with_tolerations(spec.get("tolerations") or [], settings.toleration_seconds)
    return {**new, "spec": spec}


def check_pod_change(old: Field, new: Field, causes: Causes) -> None:
    before, after = old.at("spec"), new.at("spec")
    for key in ("containers", "initContainers"):
        if len(before.at(key).items()) != len(after.at(key).items()):
            causes.forbidden(after.at(key), "containers cannot be added or removed")
            return
    _check_deadline(before.at("activeDeadlineSeconds"), after.at("activeDeadlineSeconds"), causes)
    gated = bool(before.at("schedulingGates").items())
    _check_gates(before.at("schedulingGates"), after.at("schedulingGates"), causes)
    free = {"activeDeadlineSeconds", "tolerations", "schedulingGates"}
    if not gated:
        _check_tolerations(before.at("tolerations"), after.at("tolerations"), causes)
    else:
        free.add("nodeSelector")
        _check_selector(before.at("nodeSelector"), after.at("nodeSelector"), causes)
        _check_affinity(before.at("affinity", "nodeAffinity"), after.at("affinity", "nodeAffinity"), causes)
    if _fixed(before.mapping(), free, gated) != _fixed(after.mapping(), free, gated):
        causes.forbidden(after, ALLOWED)


def _fixed(spec: Raw, free: set[str], gated: bool) -> Raw:
    """The immutable part of a spec."""
    fixed = {key: value for key, value in spec.items() if key not in free}
    for key in ("containers", "initContainers"):
        fixed[key] = [_without(one, "image") for one in spec.get(key) or ()]
    if gated:
        fixed["affinity"] = _without(spec.get("affinity") or {}, "nodeAffinity")
    return fixed


def _without(part: Any, key: str) -> Any:
    return {name: value for name, value in part.items() if name != key} if isinstance(part, dict) else part


def _check_deadline(old: Field, new: Field, causes: Causes) -> None:
    if old.given and not new.given:
        causes.invalid(new, "must not be removed")
    elif old.given and isinstance(new.value, int) and new.value > old.value:
        causes.invalid(new, "can only be lowered")


def _check_gates(old: Field, new: Field, causes: Causes) -> None:
    known = [gate.at("name").text() for gate in old.items()]
    for gate in new.items():
        name = gate.at("name")
        if name.text() not in known:
            causes.forbidden(name, f"only removal is allowed, and '{name.text()}' is new")


def _check_tolerations(old: Field, new: Field, causes: Causes) -> None:
    """Check that no toleration is removed; only their tolerationSeconds may change."""
    after = [_without(one.mapping(), "tolerationSeconds") for one in new.items()]
    if any(_without(one.mapping(), "tolerationSeconds") not in after for one in old.items()):
        causes.forbidden(new, "existing tolerations cannot be changed, except tolerationSeconds")


def _check_selector(old: Field, new: Field, causes: Causes) -> None:
    given = new.mapping()
    if any(given.get(key) != value for key, value in old.mapping().items()):
        causes.invalid(new, "only additions are allowed")


def _check_affinity(old: Field, new: Field, causes: Causes) -> None:
    before = [one.mapping() for one in old.at(REQUIRED, "nodeSelectorTerms").items()]
    terms = new.at(REQUIRED, "nodeSelectorTerms")
    after = terms.items()
    if not before:
        return
    if len(before) != len(after):
        causes.invalid(terms, "no term may be added or removed")
        return
    for was, now in zip(before, after, strict=True):
        for key in ("matchExpressions", "matchFields"):
            kept = now.at(key).value or []
            if any(one not in kept for one in was.get(key) or ()):
                causes.invalid(now, "only additions are allowed")
                break
