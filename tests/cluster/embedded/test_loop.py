"""The loop of the embedded host goes on when a stand-in, or another participant, fails for one object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.embedded.loop import Loop, Step, Worker
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.errors import Refused
from closeknit.cluster.port import Change, Key, Patch, Raw, Write
from host.lab import Lab


class Marking:
    """Marks every namespace; raises for the one named "bad" while it is broken, on a change or in its turn."""

    watches = (kinds.NAMESPACE,)

    def __init__(self, raises_in: str) -> None:
        self.raises_in = raises_in

    def concerns(self, store: Store, change: Change) -> Iterable[str]:
        self._check("concerns", change.key.name)
        return [change.key.name]

    def reconcile(self, store: Store, key: object, now: float) -> Iterable[Step]:
        self._check("reconcile", str(key))
        if str(key) not in marked(store):
            yield Patch(Key(kinds.NAMESPACE, "", str(key)), {"metadata": {"labels": {"mark": "yes"}}})

    def _check(self, call: str, name: str) -> None:
        if call == self.raises_in and name == "bad":
            raise RuntimeError("broken on purpose")


class Raising:
    """A participant that raises on every change."""

    watches = (kinds.NAMESPACE,)

    def see(self, change: Change) -> None:
        raise RuntimeError("broken on purpose")

    def due(self) -> float | None:
        return None

    def step(self, now: float) -> Sequence[Write]:
        return ()

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        """Never called."""


def marked(store: Store) -> set[str]:
    found = (one["metadata"] for one in store.all(kinds.NAMESPACE))
    return {meta["name"] for meta in found if "mark" in meta.get("labels", {})}


def a_lab(standin: Marking) -> Lab:
    lab = Lab(prepare=lambda cluster: cluster.add(Worker(cluster.store, standin)))
    for name in ("bad", "good"):
        lab.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return lab


@pytest.mark.parametrize("call", ["concerns", "reconcile"])
def test_a_stand_in_that_raises_for_one_object_goes_on_with_the_others(call: str) -> None:
    lab = a_lab(Marking(call))
    lab.advance(5)
    assert "good" in marked(lab.store)
    assert "bad" not in marked(lab.store)
    workers = [one for one in lab.cluster.loop.participants if isinstance(one, Worker)]
    assert lab.cluster.loop.faults + sum(one.faults for one in workers) > 0


def test_a_key_that_raised_is_reconciled_again() -> None:
    standin = Marking("reconcile")
    lab = a_lab(standin)
    lab.advance(2)
    standin.raises_in = ""
    lab.advance(10)
    assert "bad" in marked(lab.store)


def test_a_participant_that_raises_on_a_change_does_not_stop_the_others() -> None:
    lab = Lab()
    loop = Loop(lab.store, [Raising(), Worker(lab.store, Marking(""))])
    lab.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "good"}})
    loop.run(lab.clock.now())
    assert "good" in marked(lab.store)
    assert loop.faults > 0


def test_a_write_on_which_the_store_fails_is_answered_and_the_others_are_carried_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lab = a_lab(Marking(""))
    works = lab.store.carry_out

    def carry_out(write: Write) -> Raw:
        if isinstance(write, Patch) and write.key.name == "bad":
            raise TypeError("broken on purpose")
        return works(write)

    monkeypatch.setattr(lab.store, "carry_out", carry_out)
    lab.advance(5)
    assert "good" in marked(lab.store)
    assert "bad" not in marked(lab.store)
    assert lab.cluster.loop.faults > 0
    monkeypatch.setattr(lab.store, "carry_out", works)
    lab.advance(30)
    assert "bad" in marked(lab.store)


class Idle(Raising):
    """A participant that sees changes and never has anything to do."""

    def see(self, change: Change) -> None:
        """Nothing to do."""


def test_a_participant_without_anything_to_do_takes_no_step() -> None:
    lab = Lab()
    lab.settle()
    loop = Loop(lab.store, [*(Idle() for _ in range(20)), Worker(lab.store, Marking(""))])
    lab.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "good"}})
    assert loop.run(lab.clock.now(), most=5) is None, "it comes to rest within five steps"
    assert "good" in marked(lab.store)
