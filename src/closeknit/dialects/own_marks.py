"""Annotations of ours, on how jobs are placed and how simulated pods and machines behave: their keys and values.

    on a pod     closeknit.dev/start-time: 3s        time until its containers run
                 closeknit.dev/run-time:   2m±10%    time until they exit, or `forever`
                 closeknit.dev/exit-code:  "3"       their exit code
                 closeknit.dev/fail-after: 30s       they fail after this time, unless they exit before
                 closeknit.dev/hostfile:   openmpi   a ConfigMap with host files; also on the job
                 closeknit.dev/placement-order:  spread    and others on how to place; see `kueue/per_replica`
                 closeknit.dev/numa-policy: restricted     how its NUMA zones are aligned; see `numa_policy`
    on a node    closeknit.dev/failed:  "true"       the machine is down: no heartbeat, and its pods are lost
                 closeknit.dev/cut-off: "true"       its pods run on, but it reports nothing until it is back
                 closeknit.dev/slow:    "2.0"        its pods take twice as long
                 closeknit.dev/numa:    {zones: 2}   its NUMA zones; see `simulated_zones`

The stand-ins ignore a value that they cannot parse, and no API server validates it: so `check_marks` warns of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..model.nearest import nearest
from .durations import duration
from .field import Field

PREFIX = "closeknit.dev/"
START_TIME, RUN_TIME = PREFIX + "start-time", PREFIX + "run-time"
EXIT_CODE, FAIL_AFTER = PREFIX + "exit-code", PREFIX + "fail-after"
FAILED, CUT_OFF, SLOW = PREFIX + "failed", PREFIX + "cut-off", PREFIX + "slow"
NUMA = PREFIX + "numa"

PER_REPLICA, SPREAD = PREFIX + "podset-per-replica", PREFIX + "podset-spread-topology"
ORDER = PREFIX + "placement-order"
"""How pods are placed; `kueue/per_replica` reports mistakes in the values."""
NUMA_POLICY = PREFIX + "numa-policy"
"""How pods are aligned on NUMA zones; see `numa_policy`."""

HOSTFILE = PREFIX + "hostfile"
HOSTFILES = {"openmpi": ("hostfile", "rankfile"), "torchrun": ("torchrun",)}
"""The values of the annotation, each with the files that its launcher reads."""

Readers = Mapping[str, Callable[[str], object]]


def exit_code(text: str) -> int:
    """An exit code from 0 to 255; ValueError for anything else."""
    if text.isascii() and text.isdigit() and int(text) <= 255:
        return int(text)
    raise ValueError(f'"{text}" is not an exit code: write a number from 0 to 255')


def slowness(text: str) -> float:
    """The factor by which everything takes longer; ValueError if the text is not one."""
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0.0 < factor < 1e6:
        raise ValueError(f'"{text}" is not a factor: write a number such as 2.0')
    return factor


def is_silent(annotations: Mapping[str, str]) -> bool:
    """Whether the machine behind a node is down or cut off, so that it reports nothing."""
    return annotations.get(FAILED) == "true" or annotations.get(CUT_OFF) == "true"


def _switch(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f'"{text}" is neither "true" nor "false"')
    return text == "true"


def launcher(text: str) -> str:
    """A launcher for which host files are written; ValueError for anything else."""
    if text not in HOSTFILES:
        raise ValueError(f'"{text}" is not a launcher: write one of {", ".join(HOSTFILES)}')
    return text


OF_JOBS: Readers = {HOSTFILE: launcher, ORDER: str}
"""Keys on a job or on its pod template."""
OF_PODS: Readers = {
    **OF_JOBS,
    START_TIME: duration,
    RUN_TIME: duration,
    FAIL_AFTER: duration,
    EXIT_CODE: exit_code,
    PER_REPLICA: str,
    SPREAD: str,
    NUMA_POLICY: str,
}
OF_NODES: Readers = {FAILED: _switch, CUT_OFF: _switch, SLOW: slowness, NUMA: str}
WRITTEN = tuple(
    PREFIX + name
    for name in (
        *("rank", "node-group", "provisioning-request", "admission-check", "attempt", "pod-sets"),
        "numa-held",
    )
)
"""Keys that Closeknit itself writes, not users."""


def check_marks(annotations: Field, read: Readers, elsewhere: Readers, remedy: str) -> None:
    """Warn of unparsable values, of misspelt keys, and of keys in the wrong place; `remedy` names the right one."""
    for key, field in annotations.fields().items():
        if not key.startswith(PREFIX) or key in WRITTEN:
            continue
        if key in read:
            _check_value(read[key], field)
        elif key in elsewhere:
            field.warn("is ignored there", remedy)
        else:
            field.warn("is not a known key", _meant(key, (*read, *elsewhere)))


def _meant(key: str, known: Iterable[str]) -> str:
    names = [one.removeprefix(PREFIX) for one in known]
    found = nearest(key.removeprefix(PREFIX), names)
    return (
        f"the keys are {', '.join(PREFIX + name for name in names)}"
        if found is None
        else f"did you mean {PREFIX}{found}?"
    )


def _check_value(reader: Callable[[str], object], field: Field) -> None:
    if isinstance(field.value, str):
        try:
            reader(field.value)
        except ValueError as error:
            field.warn(str(error))
