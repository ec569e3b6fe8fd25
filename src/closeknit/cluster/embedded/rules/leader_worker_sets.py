"""LeaderWorkerSets: groups of pods, each with a leader."""

from __future__ import annotations

from ....dialects.field import INT32_MAX, Field
from ...port import Raw
from .causes import Causes
from .crd_defaults import filler
from .names import host_label
from .pod_checks import check_template
from .rule import KindRule, unchanged
from .sets import check_share

_ROLLING = {"partition": 0, "maxUnavailable": 1, "maxSurge": 0}
_fill = filler(
    {
        "spec.replicas": 1,
        "spec.startupPolicy": "LeaderCreated",
        "spec.networkConfig": {},
        "spec.networkConfig.subdomainPolicy": "Shared",
        "spec.rolloutStrategy": {"type": "RollingUpdate"},
        "spec.rolloutStrategy.type": "RollingUpdate",
        "spec.rolloutStrategy.rollingUpdateConfiguration": dict(_ROLLING),
        **{f"spec.rolloutStrategy.rollingUpdateConfiguration.{key}": value for key, value in _ROLLING.items()},
        "spec.leaderWorkerTemplate.size": 1,
        "spec.leaderWorkerTemplate.restartPolicy": "RecreateGroupOnPodRestart",
        "spec.leaderWorkerTemplate.subGroupPolicy.subGroupPolicyType": "LeaderWorker",
    }
)


def _filled(raw: Raw) -> Raw:
    """The object with defaults; the deprecated restart policy Default becomes None."""
    raw = _fill({**raw, "spec": raw.get("spec") or {}})
    group = raw["spec"].get("leaderWorkerTemplate") or {}
    if group.get("restartPolicy") != "Default":
        return raw
    return {**raw, "spec": {**raw["spec"], "leaderWorkerTemplate": {**group, "restartPolicy": "None"}}}


def _check(raw: Field, causes: Causes) -> None:
    spec = raw.at("spec")
    group = spec.at("leaderWorkerTemplate")
    replicas, size = spec.at("replicas"), group.at("size")
    causes.at_least(replicas, 0)
    causes.at_least(size, 1)
    if isinstance(replicas.value, int) and isinstance(size.value, int) and replicas.value * size.value > INT32_MAX:
        causes.invalid(replicas, f"would create more than {INT32_MAX} pods")
    rolling = spec.at("rolloutStrategy", "rollingUpdateConfiguration")
    causes.at_least(rolling.at("partition"), 0)
    gone, more = check_share(rolling.at("maxUnavailable"), causes), check_share(rolling.at("maxSurge"), causes)
    if gone == 0 and more == 0 and replicas.value:
        causes.invalid(rolling.at("maxUnavailable"), "cannot be 0 when maxSurge is 0")
    _check_sub_groups(group, causes)
    for key in ("leaderTemplate", "workerTemplate"):
        if group.at(key).given:
            check_template(group.at(key), causes, filled=False)


def _check_sub_groups(group: Field, causes: Causes) -> None:
    """Check that subgroups divide the pods evenly, with or without the leader."""
    part, size = group.at("subGroupPolicy", "subGroupSize"), group.at("size").value
    if not group.at("subGroupPolicy").given:
        return
    causes.at_least(part, 1, needed=True)
    if not isinstance(part.value, int) or not isinstance(size, int) or part.value < 1:
        return
    if part.value > size:
        causes.invalid(part, "must not be greater than size")
    elif size % part.value and (size - 1) % part.value:
        causes.invalid(part, "size or size - 1 must be divisible by it")


def _check_change(old: Field, new: Field, causes: Causes) -> None:
    before, after = old.at("spec", "leaderWorkerTemplate"), new.at("spec", "leaderWorkerTemplate")
    unchanged(before, after, causes, "subGroupPolicy")


LEADER_WORKER_SET_RULE = KindRule(_filled, check=_check, change=_check_change, name=host_label)
