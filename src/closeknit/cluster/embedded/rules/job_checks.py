"""What a Job has to be like, and what of it may change.

Its template is fixed while it runs. While it stands still (suspended, and either it never ran or it says that it was
suspended) where its pods go and what they ask for may change.
"""

from __future__ import annotations

from typing import Any

from ....dialects.field import INT32_MAX, Field
from ....dialects.kueue.jobs.raw import condition
from ....model.shape import whole_number
from ...port import Raw
from ..label_selector import selects
from .causes import Causes
from .job_defaults import CONTROLLER_UID, JOB_NAME, OLD_CONTROLLER_UID, OLD_JOB_NAME
from .placing_checks import check_selector
from .pod_checks import check_template
from .rule import IMMUTABLE, unchanged

MODES = ("NonIndexed", "Indexed")
REPLACEMENTS = ("Failed", "TerminatingOrFailed")
MOST_INDEXES = 100_000
ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_PLACING = ("nodeSelector", "tolerations", "schedulingGates")


def check_job(job: Field, causes: Causes) -> None:
    spec, name, uid = job.at("spec"), job.at("metadata", "name").value, job.at("metadata", "uid").value
    check_job_spec(spec, causes)
    labels, selector = spec.at("template", "metadata", "labels"), spec.at("selector")
    if spec.at("manualSelector").value is True:
        if not selector.given:
            causes.required(selector)
    else:
        if selector.value != {"matchLabels": {CONTROLLER_UID: uid}}:
            causes.invalid(selector, "is made by the server; remove it, or set `manualSelector`")
        own = ((CONTROLLER_UID, uid), (OLD_CONTROLLER_UID, uid), (JOB_NAME, name), (OLD_JOB_NAME, name))
        for key, value in own:
            if labels.mapping().get(key) != value:
                causes.invalid(f"{labels.path}[{key}]", f"must be '{value}'", labels.mapping().get(key))
    before = len(causes.found)
    check_selector(selector, causes)
    readable = len(causes.found) == before
    if not selector.given or (readable and not selects(selector.mapping(), labels.mapping())):
        causes.invalid(labels, "the selector does not select them")


def check_job_spec(spec: Field, causes: Causes) -> None:
    """What is the same in the template of a CronJob."""
    for key in (
        "parallelism",
        "completions",
        "backoffLimit",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
        "activeDeadlineSeconds",
        "ttlSecondsAfterFinished",
    ):
        causes.at_least(spec.at(key), 0)
    if spec.at("completionMode").given:
        causes.one_of(spec.at("completionMode"), MODES)
    if spec.at("podReplacementPolicy").given:
        causes.one_of(spec.at("podReplacementPolicy"), REPLACEMENTS)
    _check_indexes(spec, causes)
    manager = spec.at("managedBy")
    if manager.given and ("/" not in manager.text() or " " in manager.text()):
        causes.invalid(manager, "must be a path with a domain, such as example.com/controller")
    elif len(manager.text()) > 63:
        causes.too_long(manager, 63)
    check_template(spec.at("template"), causes)
    policy = spec.at("template", "spec", "restartPolicy")
    if policy.text() == "Always":
        causes.required(policy, 'use "OnFailure" or "Never"')
    _check_failure_policy(spec, causes)


def _check_indexes(spec: Field, causes: Causes) -> None:
    """What only Jobs with an index for each pod can have, and how many of those there may be."""
    if spec.at("maxFailedIndexes").given and not spec.at("backoffLimitPerIndex").given:
        causes.required(spec.at("backoffLimitPerIndex"), "maxFailedIndexes has no meaning without it")
    if spec.at("completionMode").text() != "Indexed":
        for key in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if spec.at(key).given:
                causes.invalid(spec.at(key), "needs completionMode Indexed")
        return
    if not spec.at("completions").given:
        causes.required(spec.at("completions"), "when completion mode is Indexed")
    number, at_once = spec.at("completions").value, spec.at("parallelism").value
    if isinstance(at_once, int) and at_once > MOST_INDEXES:
        causes.invalid(spec.at("parallelism"), f"an Indexed job has at most {MOST_INDEXES} pods at once")
    if spec.at("successPolicy").given and not spec.at("successPolicy", "rules").items():
        causes.required(spec.at("successPolicy", "rules"), "give at least one rule")
    most = spec.at("maxFailedIndexes").value
    if isinstance(most, int) and isinstance(number, int) and most > number:
        causes.invalid(spec.at("maxFailedIndexes"), "more than there are completions")


def _check_failure_policy(spec: Field, causes: Causes) -> None:
    policy, restarts = spec.at("podFailurePolicy"), spec.at("template", "spec", "restartPolicy")
    if not policy.given:
        return
    if restarts.text() != "Never":
        causes.invalid(restarts, "has to be Never beside a podFailurePolicy")
    if spec.at("podReplacementPolicy").text() == "TerminatingOrFailed":
        causes.unsupported(spec.at("podReplacementPolicy"), ("Failed",))
    for rule in policy.at("rules").items():
        causes.one_of(rule.at("action"), ACTIONS)
        if rule.at("action").value == "FailIndex" and not spec.at("backoffLimitPerIndex").given:
            causes.invalid(rule.at("action"), "needs backoffLimitPerIndex")
        codes, conditions = rule.at("onExitCodes"), rule.at("onPodConditions").items()
        if codes.given and conditions:
            causes.invalid(rule, "has both onExitCodes and onPodConditions")
        elif not codes.given and not conditions:
            causes.invalid(rule, "needs onExitCodes or onPodConditions")
        if codes.given:
            causes.one_of(codes.at("operator"), ("In", "NotIn"))
            if not codes.at("values").items():
                causes.invalid(codes.at("values"), "at least one value is required", [])
            for code in codes.at("values").items():
                if code.value == 0 and codes.at("operator").value == "In":
                    causes.invalid(code, "0 is not a failure")


def check_job_change(old: Field, new: Field, causes: Causes) -> None:
    before, after = old.at("spec"), new.at("spec")
    unchanged(before, after, causes, "completionMode", "selector", "managedBy", "podFailurePolicy", "successPolicy")
    unchanged(before, after, causes, "backoffLimitPerIndex")
    _check_completions(before, after, causes)
    _check_template(old, new, causes)


def _check_completions(old: Field, new: Field, causes: Causes) -> None:
    """An Indexed Job may grow and shrink as long as every index runs at once."""
    before, after = old.at("completions").value, new.at("completions")
    if before == after.value:
        return
    if new.at("completionMode").text() != "Indexed":
        causes.invalid(after, IMMUTABLE)
    elif after.given and after.value != new.at("parallelism").value:
        causes.invalid(after, "changes only together with parallelism, to the same number")


def _check_template(old: Field, new: Field, causes: Causes) -> None:
    before, after = old.at("spec", "template").mapping(), new.at("spec", "template")
    if before == after.mapping():
        return
    if not stands_still(old.mapping()):
        causes.invalid(after, IMMUTABLE)
    elif _fixed(before) != _fixed(after.mapping()):
        causes.invalid(after.at("spec"), f"{IMMUTABLE}, but for where pods go and what they ask for")


def stands_still(job: Raw) -> bool:
    if (job.get("spec") or {}).get("suspend") is not True:
        return False
    return (job.get("status") or {}).get("startTime") is None or condition(job, "Suspended") is not None


def _fixed(template: Raw) -> Raw:
    """What of a template stays even while the Job stands still."""
    spec: Raw = {key: value for key, value in (template.get("spec") or {}).items() if key not in _PLACING}
    affinity = {key: value for key, value in (spec.pop("affinity", None) or {}).items() if key != "nodeAffinity"}
    for key in ("containers", "initContainers"):
        spec[key] = [_without_resources(one) for one in spec.get(key) or ()]
    return {**spec, **({"affinity": affinity} if affinity else {})}


def _without_resources(container: Any) -> Any:
    if not isinstance(container, dict):
        return container
    return {key: value for key, value in container.items() if key != "resources"}


def check_job_status(old: Field, new: Field, causes: Causes) -> None:
    """A Job that has ended says when and why, and does not come back."""
    before, status = old.at("status"), new.at("status")
    for key in ("active", "succeeded", "failed", "ready", "terminating"):
        causes.at_least(status.at(key), 0)
    if status.at("ready").given and _number(status, "ready") > _number(status, "active"):
        causes.invalid(status.at("ready"), "more than are active")
    for key in ("succeeded", "failed"):
        if _number(status, key) < _number(before, key):
            causes.invalid(status.at(key), "never goes down")
    for key in ("completedIndexes", "failedIndexes"):
        _check_index_text(status.at(key), old.at("spec"), causes)
    _check_start(old, status, causes)
    _check_end(old.mapping(), new, causes)


def _check_index_text(text: Field, spec: Field, causes: Causes) -> None:
    """`0,2-4`: numbers and ranges of them, rising, each below the number of completions."""
    if not text.text():
        return
    if spec.at("completionMode").text() != "Indexed":
        causes.invalid(text, "cannot be set when completion mode is not Indexed")
        return
    last, most = -1, spec.at("completions").value
    for piece in text.text().split(","):
        first, dash, end = piece.partition("-")
        ends = [whole_number(one) for one in ((first, end) if dash else (first,))]
        for number in ends:
            if number is None or number <= last or (isinstance(most, int) and number >= most):
                causes.invalid(text, f"{piece!r} is not an index, or a range of them, that follows {last}")
                return
            last = number


def _check_start(old: Field, status: Field, causes: Causes) -> None:
    before = old.at("status", "startTime").value
    if before is not None and old.at("spec", "suspend").value is not True and before != status.at("startTime").value:
        causes.invalid(status.at("startTime"), "stays while the job is not suspended")


def _check_end(old: Raw, new: Field, causes: Causes) -> None:
    raw, status = new.mapping(), new.at("status")
    complete, failed = condition(raw, "Complete"), condition(raw, "Failed")
    conditions = status.at("conditions")
    for kind, needed in (("Complete", "SuccessCriteriaMet"), ("Failed", "FailureTarget")):
        if condition(old, kind) and not condition(raw, kind):
            causes.invalid(conditions, f"{kind} is an end, and cannot be taken back", None)
        if condition(raw, kind) and not condition(raw, needed):
            causes.invalid(conditions, f"{kind} comes only after {needed}", None)
    if complete and failed:
        causes.invalid(conditions, "a job is Complete or Failed, not both", None)
    if complete and not status.at("completionTime").given:
        causes.required(status.at("completionTime"), "for Complete jobs")
    if str(status.at("completionTime").value or "9") < str(status.at("startTime").value or ""):
        causes.invalid(status.at("completionTime"), "is before startTime")
    if not complete and status.at("completionTime").given:
        causes.invalid(status.at("completionTime"), "is for jobs that are Complete")
    if complete or failed:
        if not status.at("startTime").given:
            causes.required(status.at("startTime"), "for a finished job")
        if _number(status, "active"):
            causes.invalid(status.at("active"), "nothing of a finished job is active")


def _number(status: Field, key: str) -> int:
    value = status.at(key).value
    return value if isinstance(value, int) and abs(value) <= INT32_MAX else 0
