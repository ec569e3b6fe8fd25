"""The defaults of Jobs and CronJobs, and the generated selector of a Job."""

from __future__ import annotations

from typing import Any

from ...port import Raw
from .pod_defaults import filled_template, non_empty
from .pods import with_times
from .rule import Making

CONTROLLER_UID, JOB_NAME = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"
OLD_CONTROLLER_UID, OLD_JOB_NAME = "controller-uid", "job-name"
GIVEN_BY_SERVER = (CONTROLLER_UID, JOB_NAME, OLD_CONTROLLER_UID, OLD_JOB_NAME)
ENDLESS = 2**31 - 1


def filled_job(raw: Raw) -> Raw:
    """A Job without labels gets those of its pods: the same mapping object, by which `begun_job` recognizes it."""
    spec = filled_job_spec(raw.get("spec") or {})
    meta, labels = raw["metadata"], spec["template"]["metadata"].get("labels")
    if labels and not meta.get("labels"):
        meta = {**meta, "labels": labels}
    return {**raw, "metadata": meta, "spec": spec}


def filled_job_spec(spec: Raw) -> Raw:
    """The spec of a Job with defaults."""
    spec = _of_any(spec)
    if spec.get("parallelism") is None:
        spec.setdefault("completions", 1)
        spec["parallelism"] = 1
    spec.setdefault("backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else ENDLESS)
    for key, default in (("completionMode", "NonIndexed"), ("suspend", False), ("manualSelector", False)):
        spec.setdefault(key, default)
    spec.setdefault("podReplacementPolicy", "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed")
    return spec


def _of_any(spec: Raw) -> Raw:
    """The defaults that also the template of a CronJob gets."""
    spec = {**non_empty(spec), "template": filled_template(spec.get("template"))}
    policy = spec.get("podFailurePolicy")
    if policy:
        spec["podFailurePolicy"] = {**policy, "rules": [_rule(one) for one in policy.get("rules") or ()]}
    return spec


def _rule(rule: Raw) -> Raw:
    conditions = [{"status": "True", **non_empty(one)} for one in rule.get("onPodConditions") or ()]
    return {**rule, **({"onPodConditions": conditions} if conditions else {})}


def begun_job(_making: Making, raw: Raw) -> Raw:
    """The Job with generated selector and pod labels, unless `manualSelector` is set."""
    raw = {**raw, "status": {}}
    spec, meta = raw["spec"], raw["metadata"]
    if spec["manualSelector"]:
        return raw
    template = spec["template"]
    pods: Raw = template["metadata"]
    uid, name = meta["uid"], meta["name"]
    own = {CONTROLLER_UID: uid, JOB_NAME: name, OLD_CONTROLLER_UID: uid, OLD_JOB_NAME: name}
    labels = {**own, **(pods.get("labels") or {})}
    selector: Any = spec.get("selector") or {}
    matches = {**(selector.get("matchLabels") or {}), CONTROLLER_UID: uid}
    raw["spec"] = {
        **spec,
        "selector": {**selector, "matchLabels": matches},
        "template": {**template, "metadata": {**pods, "labels": labels}},
    }
    if not meta.get("labels") or meta["labels"] is pods.get("labels"):
        raw["metadata"] = {**meta, "labels": labels}
    return raw


def filled_job_status(_old: Raw, new: Raw) -> Raw:
    conditions = (new.get("status") or {}).get("conditions")
    if not conditions:
        return new
    return {**new, "status": {**new["status"], "conditions": with_times(conditions, "lastProbeTime")}}


def filled_cron_job(raw: Raw) -> Raw:
    spec = {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        **non_empty(raw.get("spec") or {}),
    }
    if (raw.get("spec") or {}).get("timeZone") == "":
        spec["timeZone"] = ""
    template: Raw = spec.get("jobTemplate") or {}
    spec["jobTemplate"] = {
        **template,
        "metadata": non_empty(template.get("metadata") or {}),
        "spec": _of_any(template.get("spec") or {}),
    }
    return {**raw, "spec": spec}


def begun_cron_job(_making: Making, raw: Raw) -> Raw:
    return {**raw, "status": {}}
