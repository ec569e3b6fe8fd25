"""JobSets: named Jobs, each with a number of replicas.

Their templates are immutable like that of a Job; while a JobSet is suspended, before or after the change, the
scheduling directives of its pods may change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ....dialects.field import INT32_MAX, Field
from ...port import Raw
from .causes import Causes
from .crd_defaults import filler
from .job_checks import MODES
from .names import host_label
from .pod_checks import check_template
from .rule import IMMUTABLE, KindRule, Making, unchanged, unexchanged

MAX_NAME = 63
_POD_TAIL = 6
"""Characters of a pod's name beyond those of its Job and its index."""
REASONS = ("BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy")
"""The reasons for which a Job can fail."""

_RULE_NAME = re.compile(r"[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_MOVABLE = ("nodeSelector", "tolerations", "schedulingGates")
_FIXED = ("failurePolicy", "network", "startupPolicy", "successPolicy")

_fill = filler(
    {
        "spec.failurePolicy.restartStrategy": "Recreate",
        "spec.replicatedJobs[].replicas": 1,
        "spec.replicatedJobs[].groupName": "default",
    }
)
_begin = filler(
    {
        "spec.successPolicy": {"operator": "All"},
        "spec.startupPolicy": {"startupPolicyOrder": "AnyOrder"},
        "spec.network": {},
        "spec.network.enableDNSHostnames": True,
        "spec.network.publishNotReadyAddresses": True,
        "spec.replicatedJobs[].template.spec.completionMode": "Indexed",
        "spec.replicatedJobs[].template.spec.template.spec.restartPolicy": "OnFailure",
    }
)


def _filled(raw: Raw) -> Raw:
    return _fill({**raw, "spec": raw.get("spec") or {}})


def _begun(_making: Making, raw: Raw) -> Raw:
    """The defaults that the JobSet webhook sets, at creation only."""
    raw = _begin(raw)
    rules: Any = (raw["spec"].get("failurePolicy") or {}).get("rules")
    if not rules:
        return raw
    named = [{**one, "name": one.get("name") or f"failurePolicyRule{index}"} for index, one in enumerate(rules)]
    policy = {**raw["spec"]["failurePolicy"], "rules": named}
    return {**raw, "spec": {**raw["spec"], "failurePolicy": policy}}


def _check(raw: Field, causes: Causes) -> None:
    spec, name = raw.at("spec"), raw.at("metadata", "name").text()
    jobs = spec.at("replicatedJobs")
    known: list[str] = []
    for one in jobs.items():
        _check_job(one, name, known, causes)
        known.append(one.at("name").text())
    _check_targets(spec, known, causes)
    domain = spec.at("network", "subdomain")
    if domain.text() and host_label(domain.text()):
        causes.invalid(domain, host_label(domain.text()))
    manager = spec.at("managedBy")
    if manager.given and "/" not in manager.text():
        causes.invalid(manager, "must be a path with a domain, such as example.com/controller")
    causes.at_least(spec.at("ttlSecondsAfterFinished"), 0)


def _check_job(one: Field, set_name: str, known: list[str], causes: Causes) -> None:
    name, replicas = one.at("name"), one.at("replicas")
    job = one.at("template", "spec")
    if not name.text():
        causes.required(name)
    elif name.text() in known:
        causes.duplicate(name)
    causes.at_least(replicas, 0)
    for key in ("parallelism", "completions", "backoffLimit"):
        causes.at_least(job.at(key), 0)
    if job.at("completionMode").given:
        causes.one_of(job.at("completionMode"), MODES)
    copies = replicas.value if isinstance(replicas.value, int) else 1
    pods = job.at("parallelism").value if isinstance(job.at("parallelism").value, int) else 1
    if copies * pods > INT32_MAX:
        causes.invalid(replicas, f"would create more than {INT32_MAX} pods")
    longest = f"{set_name}-{name.text()}-{max(0, copies - 1)}"
    if name.text() and host_label(longest[:MAX_NAME].rstrip("-")):
        causes.invalid(name, f"the name of a Job would be {longest}: {host_label(longest[:MAX_NAME].rstrip('-'))}")
    elif len(longest) + _pod_tail(job) > MAX_NAME:
        causes.invalid(name, f"pods of {longest} would have names of more than {MAX_NAME} characters")
    check_template(job.at("template"), causes, filled=False)
    _check_depends(one, known, causes)


def _pod_tail(job: Field) -> int:
    """How much longer the longest pod name is than that of its Job."""
    completions = job.at("completions").value
    return len(str(max(0, completions - 1))) + 1 + _POD_TAIL if isinstance(completions, int) else 0


def _check_depends(one: Field, known: list[str], causes: Causes) -> None:
    for other in one.at("dependsOn").items():
        if other.at("name").text() not in known:
            causes.invalid(other.at("name"), "must be a replicated job before this one")


def _check_targets(spec: Field, known: list[str], causes: Causes) -> None:
    """Check that policies name replicated jobs of this set."""
    for target in _targets(spec):
        if target.text() not in known:
            causes.invalid(target, f"must be one of {', '.join(known)}")
    _check_rules(spec.at("failurePolicy", "rules"), causes)
    _check_coordinator(spec, causes)
    order = spec.at("startupPolicy", "startupPolicyOrder")
    if order.value == "InOrder" and any(one.at("dependsOn").items() for one in spec.at("replicatedJobs").items()):
        causes.invalid(spec, "startupPolicy InOrder and dependsOn cannot be combined", "object")


def _check_rules(rules: Field, causes: Causes) -> None:
    names: set[str] = set()
    for rule in rules.items():
        name = rule.at("name")
        if not _RULE_NAME.fullmatch(name.text()) or len(name.text()) > 128:
            causes.invalid(name, "use letters, digits, '_', ',' and ':', beginning with a letter")
        elif name.text() in names:
            causes.duplicate(name)
        names.add(name.text())
        for reason in rule.at("onJobFailureReasons").items():
            if reason.text() not in REASONS:
                causes.unsupported(reason, REASONS)


def _check_coordinator(spec: Field, causes: Causes) -> None:
    """Check the coordinator: one pod of one Indexed Job."""
    one = spec.at("coordinator")
    jobs = {job.at("name").text(): job for job in spec.at("replicatedJobs").items()}
    found = jobs.get(one.at("replicatedJob").text())
    if not one.given or found is None:
        return
    job = found.at("template", "spec")
    if job.at("completionMode").value != "Indexed" or not job.at("completions").given:
        causes.invalid(one.at("replicatedJob"), "must be Indexed, with a number of completions")
    for key, many in (("jobIndex", found.at("replicas").value), ("podIndex", job.at("completions").value)):
        index = one.at(key)
        causes.at_least(index, 0)
        if isinstance(index.value, int) and isinstance(many, int) and index.value >= many:
            causes.invalid(index, f"must be below {many}")


def _targets(spec: Field) -> Iterator[Field]:
    yield from spec.at("successPolicy", "targetReplicatedJobs").items()
    for rule in spec.at("failurePolicy", "rules").items():
        yield from rule.at("targetReplicatedJobs").items()
    if spec.at("coordinator").given:
        yield spec.at("coordinator", "replicatedJob")


def _check_change(old: Field, new: Field, causes: Causes) -> None:
    before, after = old.at("spec"), new.at("spec")
    unchanged(before, after, causes, "managedBy")
    unexchanged(before, after, causes, *_FIXED)
    free = before.at("suspend").value is True or after.at("suspend").value is True
    jobs = after.at("replicatedJobs")
    if _fixed(before.at("replicatedJobs").value, free) != _fixed(jobs.value, free):
        causes.invalid(jobs, IMMUTABLE, "object")


def _fixed(jobs: Any, free: bool) -> Any:
    """The part of the jobs that is immutable; `free`: scheduling directives may change."""
    if not free or not isinstance(jobs, list):
        return jobs
    return [without_placing(one, ("template", "spec", "template")) for one in jobs]


def without_placing(tree: Any, path: tuple[str, ...]) -> Any:
    """The object without the scheduling directives, labels and annotations of the pod template at that path."""
    if not isinstance(tree, dict):
        return tree
    if path:
        return {**tree, path[0]: without_placing(tree.get(path[0]), path[1:])}
    spec = {key: value for key, value in (tree.get("spec") or {}).items() if key not in _MOVABLE}
    meta = {key: value for key, value in (tree.get("metadata") or {}).items() if key not in ("labels", "annotations")}
    return {**tree, "spec": spec, "metadata": meta}


JOB_SET_RULE = KindRule(_filled, _begun, check=_check, change=_check_change, name=host_label)
