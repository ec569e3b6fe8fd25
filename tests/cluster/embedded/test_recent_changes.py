"""The history of a store: bounded in changes and in bytes, and never without what the cluster has not seen yet."""

from __future__ import annotations

import pytest

from closeknit.cluster.embedded import recent_changes
from closeknit.cluster.embedded.ids import RandomIds
from closeknit.cluster.embedded.loop import Loop
from closeknit.cluster.embedded.store import Store, WriteOptions
from closeknit.cluster.errors import Expired
from closeknit.cluster.kinds import CONFIG_MAP, NAMESPACE
from closeknit.cluster.port import Change, Raw

CLIENT = WriteOptions("kubectl", trusted=False)


def store() -> Store:
    found = Store(lambda: 1.0, RandomIds(1))
    found.create(NAMESPACE, {"metadata": {"name": "default"}})
    found.create(CONFIG_MAP, {"metadata": {"name": "m", "namespace": "default"}})
    return found


def replace(of: Store, times: int, size: int = 1, options: WriteOptions = CLIENT) -> None:
    for number in range(times):
        body: Raw = {"metadata": {"name": "m", "namespace": "default"}, "data": {"a": f"{number:06d}" + "x" * size}}
        of.update(CONFIG_MAP, body, options=options)


def test_an_object_that_is_replaced_often_keeps_only_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_changes, "MOST_BYTES", 1_000_000)
    of = store()
    replace(of, 1_000, size=100_000)
    kept = list(of.history)
    assert 5 <= len(kept) <= 10
    assert [change.version for change in kept] == list(range(kept[0].version, of.version + 1))
    assert of.changes(kept[0].version) == kept[1:]
    with pytest.raises(Expired):
        of.changes(kept[0].version - 2)


def test_what_the_host_itself_writes_counts_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_changes, "MOST_BYTES", 1_000_000)
    monkeypatch.setattr(recent_changes, "MOST", 100)
    of = store()
    replace(of, 1_000, size=100_000, options=WriteOptions())
    assert len(list(of.history)) == 100


class Seeing:
    """A participant that takes down the changes it sees."""

    watches = (CONFIG_MAP,)

    def __init__(self) -> None:
        self.seen: list[int] = []

    def see(self, change: Change) -> None:
        self.seen.append(change.version)

    def due(self) -> float | None:
        return None

    def step(self, now: float) -> tuple[()]:
        return ()

    def done(self, *_: object) -> None:
        return


@pytest.mark.parametrize(("name", "bound"), [("MOST", 100), ("MOST_BYTES", 10_000)])
def test_a_participant_sees_every_change_however_many_come_at_once(
    name: str, bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a client deletes a large collection in one request: a participant cannot list again."""
    monkeypatch.setattr(recent_changes, name, bound)
    of, one = store(), Seeing()
    loop = Loop(of, [one])
    before = of.version
    replace(of, 500, size=100)
    loop.pass_on()
    assert one.seen == list(range(before + 1, of.version + 1))
    replace(of, 1)
    loop.pass_on()
    assert len(list(of.history)) <= 101, "what was seen is forgotten"
