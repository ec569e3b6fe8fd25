"""What `kubectl get pods` prints for a pod: one word that sums up its phase and the states of its containers.

The first problem counts: an init container that is not done, then the first container that waits or has terminated; a
pod that is being deleted is Terminating in any case.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...port import Raw
from ..deletion import ENDED
from .ages import seconds, shown

NONE = "<none>"


class _Summary(NamedTuple):
    ready: int
    total: int
    status: str
    restarts: int
    last_restart: float | None


def row(pod: Raw, now: float) -> list[Any]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    summary = _summary(pod, spec, status)
    restarts = str(summary.restarts)
    if summary.restarts and summary.last_restart is not None:
        restarts += f" ({shown(now - summary.last_restart)} ago)"
    addresses = status.get("podIPs") or ([{"ip": status["podIP"]}] if status.get("podIP") else [])
    return [
        f"{summary.ready}/{summary.total}",
        summary.status,
        restarts,
        addresses[0].get("ip", NONE) if addresses else NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    ]


def _gates(spec: Raw, status: Raw) -> str:
    gates = [gate["conditionType"] for gate in spec.get("readinessGates") or ()]
    met = sum(_has(status, gate) for gate in gates)
    return f"{met}/{len(gates)}" if gates else NONE


def _has(status: Raw, condition: str, field: str = "status", value: str = "True") -> bool:
    return any(one.get("type") == condition and one.get(field) == value for one in status.get("conditions") or ())


def _summary(pod: Raw, spec: Raw, status: Raw) -> _Summary:
    sidecars = {one["name"] for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"}
    word = status.get("reason") or status.get("phase") or ""
    if _has(status, "PodScheduled", "reason", "SchedulingGated"):
        word = "SchedulingGated"
    starting = status.get("initContainerStatuses") or ()
    running = status.get("containerStatuses") or ()
    trouble = _starting(starting, len(spec.get("initContainers") or ()), sidecars)
    ready = sum(1 for one in starting if one["name"] in sidecars and one.get("ready"))
    counted = list(starting)
    if trouble and not _has(status, "Initialized"):
        word = trouble
    else:
        counted = [one for one in starting if one["name"] in sidecars] + list(running)
        ready += sum(1 for one in running if _is_up(one))
        word = _running(running, status, word)
    if "deletionTimestamp" in pod["metadata"]:
        if status.get("reason") == "NodeLost":
            word = "Unknown"
        elif status.get("phase") not in ENDED:
            word = "Terminating"
    return _Summary(
        ready,
        len(spec.get("containers") or ()) + len(sidecars),
        word,
        sum(one.get("restartCount", 0) for one in counted),
        max((ended for one in counted if (ended := _last_end(one)) is not None), default=None),
    )


def _is_up(container: Raw) -> bool:
    return bool(container.get("ready")) and "running" in (container.get("state") or {})


def _last_end(container: Raw) -> float | None:
    last = (container.get("lastState") or {}).get("terminated") or {}
    return seconds(last.get("finishedAt"))


def _starting(containers: Any, total: int, sidecars: set[str]) -> str:
    """What delays the start, if anything does: "Init:1/3"."""
    for number, one in enumerate(containers):
        state = one.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if one["name"] in sidecars and one.get("started"):
            continue
        if ended is not None:
            return f"Init:{_end(ended)}"
        if waiting.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waiting['reason']}"
        return f"Init:{number}/{total}"
    return ""


def _end(ended: Raw) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _running(containers: Any, status: Raw, word: str) -> str:
    has_running = False
    for one in reversed(containers):
        state = one.get("state") or {}
        if (state.get("waiting") or {}).get("reason"):
            word = state["waiting"]["reason"]
        elif "terminated" in state:
            word = _end(state["terminated"] or {})
        elif _is_up(one):
            has_running = True
    if word == "Completed" and has_running:
        return "Running" if _has(status, "Ready") else "NotReady"
    return word
