"""The consequence of a failed pod of a Job: the action of podFailurePolicy, and the backoff before the next pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from ....dialects.timestamps import parse
from ...port import Raw
from .children import condition

Action = Literal["Count", "Ignore", "FailIndex", "FailJob"]
LONGEST_PAUSE = 600.0


class PodFailureAction(NamedTuple):
    """What to do about a failed pod; `message` names the rule of FailJob."""

    action: Action = "Count"
    message: str = ""


COUNTS = PodFailureAction()


def verdict(job: Raw, pod: Raw) -> PodFailureAction:
    """The action of the first matching rule; without one the failure counts."""
    policy = job["spec"].get("podFailurePolicy")
    if policy is None:
        return COUNTS
    for number, rule in enumerate(policy.get("rules") or ()):
        matched = _matched(rule, pod)
        if matched:
            action: Action = rule["action"]
            return PodFailureAction(action, f"{matched} matching {action} rule at index {number}")
    return COUNTS


def _matched(rule: Raw, pod: Raw) -> str:
    """The message of a matching rule; empty if it does not match."""
    name = f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"
    codes = rule.get("onExitCodes")
    if codes is not None:
        wanted = codes.get("containerName")
        for container, code in _exit_codes(pod):
            if wanted not in (None, container) or code == 0:
                continue
            if (code in codes["values"]) == (codes["operator"] == "In"):
                return f"Container {container} for pod {name} failed with exit code {code}"
        return ""
    for one in rule.get("onPodConditions") or ():
        found = condition(pod, one["type"])
        if found is not None and found["status"] == one.get("status", "True"):
            return f"Pod {name} has condition {one['type']}"
    return ""


def _exit_codes(pod: Raw) -> Iterator[tuple[str, int]]:
    status = pod.get("status") or {}
    for part in ("initContainerStatuses", "containerStatuses"):
        for one in status.get(part) or ():
            ended = (one.get("state") or {}).get("terminated")
            if ended is not None:
                yield one["name"], ended["exitCode"]


def restarts(pod: Raw) -> int:
    """The total number of restarts of its containers."""
    return sum(one.get("restartCount", 0) for one in (pod.get("status") or {}).get("containerStatuses") or ())


def ended_at(pod: Raw, now: float) -> float:
    """When a pod ended. A pod that never started, because its kubelet refused it, counts from its creation."""
    times = [
        parse(ended["finishedAt"])
        for one in (pod.get("status") or {}).get("containerStatuses") or ()
        if (ended := (one.get("state") or {}).get("terminated")) is not None and ended.get("finishedAt")
    ]
    if not times:
        ready = condition(pod, "Ready")
        if ready is not None and ready.get("lastTransitionTime"):
            times.append(parse(ready["lastTransitionTime"]))
    if not times and "creationTimestamp" in pod["metadata"]:
        times.append(parse(pod["metadata"]["creationTimestamp"]))
    at = max(times, default=now)
    return now if int(now) == at else at


def pause(failures: int, first: float) -> float:
    """The backoff after consecutive failures: doubled each time, up to ten minutes."""
    return 0.0 if failures <= 0 else min(LONGEST_PAUSE, first * 2 ** min(failures - 1, 20))
