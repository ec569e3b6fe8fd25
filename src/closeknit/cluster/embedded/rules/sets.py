"""Deployments, ReplicaSets, StatefulSets, DaemonSets, PodTemplates: a template, and how many pods of it to run."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ....dialects.field import Field
from ...port import Raw
from ..label_selector import selects
from .causes import Causes
from .names import label
from .placing_checks import check_selector
from .pod_checks import check_template
from .pod_defaults import filled_template, non_empty
from .quantities import canonical_all
from .rule import IMMUTABLE, KindRule, Making, unchanged
from .settings import AdmissionSettings

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_PERCENT = re.compile(r"[0-9]+%", re.ASCII)
_STATEFUL_FREE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def _filled(raw: Raw, defaults: Raw) -> Raw:
    spec = raw.get("spec") or {}
    return {**raw, "spec": {**defaults, **non_empty(spec), "template": filled_template(spec.get("template"))}}


def _with_strategy(raw: Raw, key: str, rolling: Raw) -> Raw:
    """The object with its update strategy, by default a rolling one with these parameters."""
    strategy = {"type": "RollingUpdate", **non_empty(raw["spec"].get(key) or {})}
    if strategy["type"] == "RollingUpdate":
        strategy = {**strategy, "rollingUpdate": {**rolling, **non_empty(strategy.get("rollingUpdate") or {})}}
    return {**raw, "spec": {**raw["spec"], key: strategy}}


def _status(status: Raw) -> Callable[[Making, Raw], Raw]:
    return lambda _making, raw: {**raw, "status": dict(status)}


def _check_counts(spec: Field, causes: Causes, *keys: str) -> None:
    for key in keys:
        causes.at_least(spec.at(key), 0)


def _check_pods(spec: Field, causes: Causes, must_select: bool = True) -> None:
    """Check that the selector matches the template, and that its pods restart always and have no deadline."""
    selector, template = spec.at("selector"), spec.at("template")
    labels, before = template.at("metadata", "labels"), len(causes.found)
    if selector.given and not selector.value:
        causes.invalid(selector, "must not be empty")
    check_selector(selector, causes)
    if not selector.given and must_select:
        causes.required(selector)
    if len(causes.found) > before and selector.value and must_select:
        causes.invalid(selector, "is not a valid selector")
    if not selector.given or (len(causes.found) == before and not selects(selector.mapping(), labels.mapping())):
        causes.invalid(labels, "the selector does not match them")
    check_template(template, causes)
    policy, deadline = template.at("spec", "restartPolicy"), template.at("spec", "activeDeadlineSeconds")
    if policy.text() in ("Never", "OnFailure"):
        causes.unsupported(policy, ("Always",))
    if deadline.given:
        causes.forbidden(deadline, "not allowed for the pods of a set")


def check_share(field: Field, causes: Causes, whole: bool = True) -> int | None:
    """Check a number or percentage, of at most 100% if `whole`; returns it if it is a number or zero percent."""
    value = field.value
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            causes.invalid(field, "must be a whole number or a percentage such as 25%")
        elif whole and int(value[:-1][:9]) > 100:
            causes.invalid(field, "must not be greater than 100%")
        return 0 if value == "0%" else None
    causes.at_least(field, 0)
    return value if isinstance(value, int) else None


def _filled_deployment(raw: Raw) -> Raw:
    raw = _filled(raw, {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600})
    return _with_strategy(raw, "strategy", {"maxUnavailable": "25%", "maxSurge": "25%"})


def _check_deployment(raw: Field, causes: Causes) -> None:
    spec = raw.at("spec")
    _check_counts(spec, causes, "replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline, wait = spec.at("progressDeadlineSeconds"), spec.at("minReadySeconds").value or 0
    if isinstance(deadline.value, int) and isinstance(wait, int) and 0 <= deadline.value <= wait:
        causes.invalid(deadline, "must be greater than minReadySeconds")
    _check_pods(spec, causes)
    strategy = spec.at("strategy")
    if strategy.at("type").text() not in ("Recreate", "RollingUpdate"):
        causes.unsupported(strategy, ("Recreate", "RollingUpdate"))
        return
    rolling = strategy.at("rollingUpdate")
    if strategy.at("type").text() == "Recreate":
        if rolling.given:
            causes.forbidden(rolling, "may not be specified with type Recreate")
        return
    gone = check_share(rolling.at("maxUnavailable"), causes)
    more = check_share(rolling.at("maxSurge"), causes, whole=False)
    if gone == 0 and more == 0:
        causes.invalid(rolling.at("maxUnavailable"), "cannot be 0 when maxSurge is 0")


def _filled_replica_set(raw: Raw) -> Raw:
    return _filled(raw, {"replicas": 1})


def _check_replica_set(raw: Field, causes: Causes) -> None:
    _check_counts(raw.at("spec"), causes, "replicas", "minReadySeconds")
    _check_pods(raw.at("spec"), causes)


def _filled_stateful_set(raw: Raw) -> Raw:
    defaults = {"replicas": 1, "serviceName": "", "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10}
    raw = _with_strategy(_filled(raw, defaults), "updateStrategy", {"partition": 0})
    spec = raw["spec"]
    retention = {
        "whenDeleted": "Retain",
        "whenScaled": "Retain",
        **(spec.get("persistentVolumeClaimRetentionPolicy") or {}),
    }
    spec = {**spec, "persistentVolumeClaimRetentionPolicy": retention}
    if spec.get("volumeClaimTemplates"):
        spec["volumeClaimTemplates"] = [_claim(one) for one in spec["volumeClaimTemplates"]]
    return {**raw, "spec": spec}


def _claim(claim: Raw) -> Raw:
    spec = {"volumeMode": "Filesystem", **(claim.get("spec") or {})}
    needs: Any = spec.get("resources") or {}
    spec["resources"] = {**needs, **{key: canonical_all(value) for key, value in needs.items()}}
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        **claim,
        "spec": spec,
        "status": claim.get("status") or {"phase": "Pending"},
    }


def _check_stateful_set(raw: Field, causes: Causes) -> None:
    spec = raw.at("spec")
    _check_counts(spec, causes, "replicas", "minReadySeconds")
    causes.at_least(spec.at("ordinals", "start"), 0)
    _check_pods(spec, causes)
    if spec.at("podManagementPolicy").text() not in ("OrderedReady", "Parallel"):
        causes.invalid(spec.at("podManagementPolicy"), "must be 'OrderedReady' or 'Parallel'")
    strategy = spec.at("updateStrategy")
    if strategy.at("type").text() not in ("RollingUpdate", "OnDelete"):
        causes.invalid(strategy, "must be 'RollingUpdate' or 'OnDelete'")
    elif strategy.at("type").text() == "OnDelete" and strategy.at("rollingUpdate").given:
        causes.invalid(strategy.at("rollingUpdate"), "may not be specified with type OnDelete")
    causes.at_least(strategy.at("rollingUpdate", "partition"), 0)


def _check_stateful_change(old: Field, new: Field, causes: Causes) -> None:
    before, after = old.at("spec").mapping(), new.at("spec").mapping()
    if any(before.get(key) != after.get(key) for key in before.keys() | after.keys() if key not in _STATEFUL_FREE):
        causes.forbidden(new.at("spec"), f"only {', '.join(_STATEFUL_FREE)} may change")


def _filled_daemon_set(raw: Raw) -> Raw:
    return _with_strategy(
        _filled(raw, {"revisionHistoryLimit": 10}), "updateStrategy", {"maxUnavailable": 1, "maxSurge": 0}
    )


def _begun_daemon_set(_making: Making, raw: Raw) -> Raw:
    counts = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    return {**_numbered(raw, 1), "status": dict.fromkeys(counts, 0)}


def _prepared_daemon_set(_settings: AdmissionSettings, old: Raw, new: Raw) -> Raw:
    """Increment the template generation, the legacy record of a pod's template, if the template changed."""
    number = str((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION) or "1")
    last = int(number) if number.isdigit() and len(number) < 10 else 1
    return _numbered(new, last + (old["spec"]["template"] != new["spec"]["template"]))


def _numbered(raw: Raw, number: int) -> Raw:
    meta = raw["metadata"]
    return {
        **raw,
        "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), TEMPLATE_GENERATION: str(number)}},
    }


def _check_daemon_set(raw: Field, causes: Causes) -> None:
    spec = raw.at("spec")
    _check_counts(spec, causes, "minReadySeconds", "revisionHistoryLimit")
    _check_pods(spec, causes, must_select=False)
    strategy = spec.at("updateStrategy")
    if strategy.at("type").text() not in ("RollingUpdate", "OnDelete"):
        causes.unsupported(strategy, ("RollingUpdate", "OnDelete"))
        return
    rolling = strategy.at("rollingUpdate")
    if rolling.given:
        gone = check_share(rolling.at("maxUnavailable"), causes)
        more = check_share(rolling.at("maxSurge"), causes)
        if gone != 0 and more != 0:
            causes.invalid(rolling.at("maxSurge"), "must be 0 unless maxUnavailable is 0")
        if gone == 0 and more == 0:
            causes.required(rolling.at("maxUnavailable"), "cannot be 0 when maxSurge is 0")


def _check_selector_change(old: Field, new: Field, causes: Causes) -> None:
    unchanged(old.at("spec"), new.at("spec"), causes, "selector")


def _filled_pod_template(raw: Raw) -> Raw:
    return {**raw, "template": filled_template(raw.get("template"))}


def _check_pod_template(raw: Field, causes: Causes) -> None:
    check_template(raw.at("template"), causes)


def _check_revision(raw: Field, causes: Causes) -> None:
    if not raw.at("data").given:
        causes.required(raw.at("data"), "must not be empty")
    causes.at_least(raw.at("revision"), 0)


def _check_revision_change(old: Field, new: Field, causes: Causes) -> None:
    if old.at("data").value != new.at("data").value:
        causes.invalid(new.at("data"), IMMUTABLE)


DEPLOYMENT_RULE = KindRule(_filled_deployment, _status({}), None, _check_deployment, _check_selector_change)
REPLICA_SET_RULE = KindRule(
    _filled_replica_set, _status({"replicas": 0}), None, _check_replica_set, _check_selector_change
)
STATEFUL_SET_RULE = KindRule(
    _filled_stateful_set,
    _status({"replicas": 0, "availableReplicas": 0}),
    None,
    _check_stateful_set,
    _check_stateful_change,
    name=label,
)
DAEMON_SET_RULE = KindRule(
    _filled_daemon_set, _begun_daemon_set, _prepared_daemon_set, _check_daemon_set, _check_selector_change
)
POD_TEMPLATE_RULE = KindRule(_filled_pod_template, check=_check_pod_template)
REVISION_RULE = KindRule(check=_check_revision, change=_check_revision_change)
