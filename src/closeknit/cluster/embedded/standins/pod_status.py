"""The status of a pod as a kubelet writes it: phase, conditions, and container states.

All containers of a pod have the same state here. Conditions that others set on the pod are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ....dialects.timestamps import stamp
from ...port import Raw

OWN = ("Initialized", "Ready", "ContainersReady", "PodScheduled")
_NONE: Mapping[str, Any] = {}


class PodAddress(NamedTuple):
    """The addresses of a pod and its host; `host_ip` is empty if its node has no address."""

    pod_ip: str
    host_ip: str


def running(pod: Raw, place: PodAddress, began: float, restarts: int, last: Raw | None, now: float) -> Raw:
    """All containers run since `began`; `last` is their previous termination, if any."""
    containers = _containers(pod, {"running": {"startedAt": stamp(began)}}, last, restarts, up=True)
    return _status(pod, "Running", ("True", ""), ("True", ""), containers, place, now)


def waiting(pod: Raw, place: PodAddress, restarts: int, last: Raw, pause: float, now: float) -> Raw:
    """The containers failed and wait for their backoff."""
    message = f"back-off {_short(pause)} restarting failed container={_first(pod)} pod={pod['metadata']['name']}"
    containers = _containers(
        pod, {"waiting": {"reason": "CrashLoopBackOff", "message": message}}, last, restarts, up=False
    )
    return _status(pod, "Running", ("True", ""), ("False", "ContainersNotReady"), containers, place, now)


def ended(pod: Raw, place: PodAddress, last: Raw, restarts: int, now: float) -> Raw:
    """The pod has ended; `last` is the termination of its containers."""
    fine = last["exitCode"] == 0
    containers = _containers(pod, {"terminated": last}, None, restarts, up=False)
    reason = "PodCompleted" if fine else "PodFailed"
    started = ("True", "PodCompleted" if fine else "")
    return _status(pod, "Succeeded" if fine else "Failed", started, ("False", reason), containers, place, now)


def termination(began: float, finished: float, code: int, reason: str = "") -> Raw:
    """The state of a container that ended."""
    return {
        "exitCode": code,
        "reason": reason or ("Completed" if code == 0 else "Error"),
        "startedAt": stamp(began),
        "finishedAt": stamp(finished),
    }


def _status(
    pod: Raw,
    phase: str,
    initialized: tuple[str, str],
    ready: tuple[str, str],
    containers: Sequence[Raw],
    place: PodAddress,
    now: float,
) -> Raw:
    old: Raw = pod.get("status") or {}
    generation = pod["metadata"].get("generation", 1)
    states = (initialized, ready, ready, ("True", ""))
    status = {
        **old,
        "observedGeneration": generation,
        "phase": phase,
        "conditions": _conditions(old.get("conditions") or (), states, generation, stamp(now)),
        "podIP": place.pod_ip,
        "podIPs": [{"ip": place.pod_ip}],
        "containerStatuses": containers,
    }
    if place.host_ip:
        status["hostIP"], status["hostIPs"] = place.host_ip, [{"ip": place.host_ip}]
    status.setdefault("startTime", stamp(now))
    return status


def _conditions(old: Sequence[Raw], states: Sequence[tuple[str, str]], generation: int, at: str) -> list[Raw]:
    before = {one["type"]: one for one in old}
    result = []
    for kind, (status, reason) in zip(OWN, states, strict=True):
        was = before.pop(kind, None)
        since = was["lastTransitionTime"] if was is not None and was["status"] == status else at
        one = {
            "type": kind,
            "observedGeneration": generation,
            "status": status,
            "lastProbeTime": None,
            "lastTransitionTime": since,
        }
        if reason:
            one["reason"] = reason
        result.append(one)
    result += before.values()
    return result


def _containers(pod: Raw, state: Raw, last: Raw | None, restarts: int, *, up: bool) -> list[Raw]:
    return [
        {
            "name": one["name"],
            "state": state,
            "lastState": {"terminated": last} if last is not None else {},
            "ready": up,
            "restartCount": restarts,
            "image": one.get("image", ""),
            "imageID": "",
            "started": up,
        }
        for one in pod["spec"].get("containers") or ()
    ]


def _first(pod: Raw) -> str:
    names = [one["name"] for one in pod["spec"].get("containers") or ()]
    return names[0] if names else ""


def _short(seconds: float) -> str:
    """A duration in a kubelet's message: 10s, 2m40s."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def container_state(pod: Raw) -> Raw:
    """The status of the first container, which represents all; empty if there is none yet."""
    statuses: Sequence[Raw] = (pod.get("status") or _NONE).get("containerStatuses") or ({},)
    return statuses[0]
