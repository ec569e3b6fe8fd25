"""One object never ends the process: an exception is reported on the object, tried again, and the rest continues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.kinds import Kind
from closeknit.cluster.port import Change, Create, Key
from closeknit.controller.control_plane import Component, ControlPlane
from closeknit.controller.reconciler import Reconciler
from closeknit.host.metrics import Metrics
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.write.events import Recorder
from host.centre import centre
from host.lab import Lab, condition

BAD, GOOD = "bad", "good"


def a_plane(now: Callable[[], float] = lambda: 0.0) -> ControlPlane:
    return ControlPlane(Gates.profile(), Settings(), now, lambda: 0.0)


PARTS = [type(part).__name__ for part in a_plane().parts]
RECONCILERS = [type(part).__name__ for part in a_plane().parts if isinstance(part, Reconciler)]
READERS = sorted(a_plane().cache.kinds, key=lambda kind: kind.kind)


def part_of(lab: Lab, name: str) -> Component:
    return next(one for one in lab.cluster.control_plane.parts if type(one).__name__ == name)


def job(name: str) -> dict[str, Any]:
    asks = {"requests": {"cpu": "1"}}
    notes = {"kueue.x-k8s.io/podset-required-topology": "cloud.provider.com/topology-rack"}
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "resources": asks}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "suspend": True,
            "template": {"metadata": {"annotations": notes}, "spec": pod},
        },
    }


def admitted(lab: Lab) -> set[str]:
    owners = {one["metadata"]["ownerReferences"][0]["name"]: condition(one, "Admitted") for one in lab.workloads()}
    return {name for name, holds in owners.items() if holds}


def runs(lab: Lab) -> set[str]:
    """The jobs all of whose pods are bound."""
    bound = [pod["metadata"]["name"] for pod in lab.pods() if pod["spec"].get("nodeName")]
    return {name for name in (BAD, GOOD) if sum(one.startswith(name) for one in bound) == 2}


def told(lab: Lab) -> set[tuple[str, str]]:
    found = lab.all(kinds.EVENT)
    return {(one["reason"], one["involvedObject"]["name"]) for one in found if one["reason"] == "InternalError"}


class Broken:
    """Raises for calls whose first argument mentions the bad object, as long as `is_on`."""

    def __init__(self, works: Callable[..., Any], error: type[Exception] = RuntimeError, always: bool = False) -> None:
        self.works, self.error, self.always, self.is_on, self.calls = works, error, always, True, 0

    def __call__(self, first: Any, *rest: Any) -> Any:
        if self.is_on and (self.always or _is_bad(first)):
            self.calls += 1
            raise self.error("broken on purpose")
        return self.works(first, *rest)


def _is_bad(first: Any) -> bool:
    if isinstance(first, Change):
        meta = first.object["metadata"]
        owners = meta.get("ownerReferences") or ()
        return BAD in meta["name"] or any(BAD in one.get("name", "") for one in owners)
    return BAD in str(first)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_raises_on_a_change_is_shown_it_again_and_the_rest_continues(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = centre()
    lab.settle()
    part = part_of(lab, name)
    broken = Broken(part.see)
    monkeypatch.setattr(part, "see", broken)
    for one in (BAD, GOOD):
        lab.create(job(one))
    lab.advance(5)
    assert GOOD in runs(lab)
    assert lab.cluster.control_plane.faults.counts[name] == broken.calls > 0
    assert {one for one, _ in told(lab)} == {"InternalError"}
    broken.is_on = False
    lab.advance(30)
    assert runs(lab) == {BAD, GOOD}


@pytest.mark.parametrize("name", RECONCILERS)
def test_a_key_that_raises_is_tried_again_with_backoff_and_the_rest_continues(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = centre()
    lab.settle()
    part = part_of(lab, name)
    assert isinstance(part, Reconciler)
    broken = Broken(part.reconcile)
    monkeypatch.setattr(part, "reconcile", broken)
    key = lab.create(job(BAD))["metadata"]["name"]
    lab.create(job(GOOD))
    part.queue.add(_some_key(part, key))
    lab.advance(5)
    assert GOOD in runs(lab)
    assert 0 < lab.cluster.control_plane.faults.counts[name] == broken.calls < 40
    broken.is_on = False
    lab.advance(30)
    assert runs(lab) == {BAD, GOOD}


def _some_key(part: Reconciler[Any], name: str) -> object:
    """A key of the kind that the reconciler uses, so that each is broken for at least one."""
    texts = ("WorkloadReconciler", "TopologyUngater", "NodeFailureReconciler", "PendingReporter")
    return f"default/{name}" if type(part).__name__ in texts else Key(kinds.JOB, "default", name)


@pytest.mark.parametrize("call", ["step", "due"])
@pytest.mark.parametrize("name", [one for one in PARTS if one not in ("Redelivery", "Recorder")])
def test_a_part_whose_step_raises_is_left_alone_for_a_moment_and_the_rest_continues(
    name: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = centre()
    lab.settle()
    part = part_of(lab, name)
    calls = []

    def broken(*_: object) -> object:
        calls.append(call)
        raise RuntimeError("broken on purpose")

    if call == "step":
        monkeypatch.setattr(part, "due", lambda: 0.0)
    monkeypatch.setattr(part, call, broken)
    lab.create(job(GOOD))
    lab.advance(5)
    assert 3 < len(calls) < 20, "it is called again, once a second"
    assert lab.cluster.control_plane.faults.counts.total() == len(calls)
    monkeypatch.undo()
    lab.advance(30)
    assert GOOD in runs(lab)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_raises_on_the_result_of_a_write_does_not_stop_the_rest(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = centre()
    lab.settle()
    part = part_of(lab, name)
    broken = Broken(part.done, always=True)
    monkeypatch.setattr(part, "done", broken)
    lab.create(job(GOOD))
    lab.advance(5)
    assert lab.cluster.control_plane.faults.counts.total() == broken.calls
    assert admitted(lab) == {GOOD} or name in ("JobReconciler", "Recorder")


@pytest.mark.parametrize("error", [RuntimeError, ValueError, RecursionError, MemoryError])
@pytest.mark.parametrize("kind", READERS, ids=lambda kind: kind.kind)
def test_an_object_that_the_cache_cannot_read_is_reported_and_read_again(kind: Kind, error: type[Exception]) -> None:
    clock = [0.0]
    plane = a_plane(lambda: clock[0])
    seen: list[str] = []
    broken = Broken(lambda change: seen.append(change.key.name), error)
    plane.cache._readers[kind] = broken
    plane.see(_added(kind, BAD))
    plane.see(_added(kind, GOOD))
    assert seen == [GOOD]
    assert plane.faults.counts["ClusterCache"] == 1
    assert _events(plane) == {BAD: "InvalidObject" if error is ValueError else "InternalError"}
    broken.is_on, clock[0] = False, 2.0
    _run(plane, clock[0])
    assert seen == [GOOD, BAD]


def test_a_newer_change_of_the_object_replaces_the_one_that_failed() -> None:
    clock = [0.0]
    plane = a_plane(lambda: clock[0])
    seen: list[Change] = []
    broken = Broken(seen.append)
    plane.cache._readers[kinds.NODE] = broken
    plane.see(_added(kinds.NODE, BAD))
    broken.is_on = False
    newer = _added(kinds.NODE, BAD)
    plane.see(newer)
    clock[0] = 10.0
    _run(plane, clock[0])
    assert seen == [newer]


def test_an_object_that_stays_invalid_is_read_ever_more_rarely() -> None:
    clock = [0.0]
    plane = a_plane(lambda: clock[0])
    plane.cache._readers[kinds.NODE] = broken = Broken(lambda _: None, ValueError)
    plane.see(_added(kinds.NODE, BAD))
    while clock[0] < 3600.0:
        clock[0] = max(clock[0] + 1.0, plane.redelivery.due() or 0.0)
        _run(plane, clock[0])
    assert 8 < broken.calls < 25


def test_faults_are_counted_in_a_metric() -> None:
    lab = centre()
    lab.settle()
    lab.cluster.control_plane.faults.report(Recorder(), None, RuntimeError("x"), 0.0)
    text = Metrics(lab.cluster).text().decode()
    assert 'closeknit_internal_errors_total{component="Recorder"} 1.0' in text


def _added(kind: Kind, name: str) -> Change:
    meta = {"name": name, "uid": f"uid-{name}", **({"namespace": "default"} if kind.namespaced else {})}
    raw = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, "spec": {}, "status": {}}
    return Change(1, "ADDED", kind, raw)


def _events(plane: ControlPlane) -> dict[str, str]:
    """The reasons of the cache's faults by object, as the recorder writes them."""
    bodies = [flight.write.body for flight in plane.recorder.step(0.0) if isinstance(flight.write, Create)]
    own = [one for one in bodies if "ClusterCache" in one["message"] or one["reason"] == "InvalidObject"]
    return {one["involvedObject"]["name"]: one["reason"] for one in own}


def _run(plane: ControlPlane, now: float) -> None:
    while (at := plane.due()) is not None and at <= now:
        for write in plane.step(now):
            plane.done(write, {}, now)


def test_a_limit_range_that_cannot_be_read_leaves_the_others_of_its_namespace() -> None:
    lab = centre()
    lab.settle()
    plane, limits = lab.cluster.control_plane, [{"type": "Container", "default": {"cpu": "1"}}]
    for name, spec in (("a", {"limits": limits}), ("b", "spoiled"), ("c", {"limits": limits})):
        meta = {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"}
        raw = {"apiVersion": "v1", "kind": "LimitRange", "metadata": meta, "spec": spec}
        plane.see(Change(lab.store.version, "ADDED", kinds.LIMIT_RANGE, raw))
    assert len(plane.cache.world.limit_ranges["default"]) == 2
    gone = {"metadata": {"name": "b", "namespace": "default"}, "spec": "spoiled"}
    plane.see(Change(lab.store.version, "DELETED", kinds.LIMIT_RANGE, gone))
    lab.advance(600)
    assert plane.redelivery.due() is None
