"""Watchers: what they are sent, encoded once for all, and how a watcher that does not read is dropped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from closeknit.cluster.embedded.ids import RandomIds
from closeknit.cluster.embedded.rest import watching
from closeknit.cluster.embedded.rest.forms import ResponseForm
from closeknit.cluster.embedded.rest.selectors import selection
from closeknit.cluster.embedded.rest.watching import BUDGET, FULL, Hub, Watcher, WatchEvent, WatchSubject, transition
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.kinds import CONFIG_MAP, NAMESPACE, SECRET
from closeknit.cluster.port import Change, Key


class Line(asyncio.Transport):
    """A connection that remembers what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.chunks: list[bytes] = []
        self.unread = 0
        self.is_cut = False

    def write(self, data: Any) -> None:
        self.chunks.append(bytes(data))

    def is_closing(self) -> bool:
        return self.is_cut

    def get_write_buffer_size(self) -> int:
        return self.unread

    def abort(self) -> None:
        self.is_cut = True

    @property
    def events(self) -> list[dict[str, Any]]:
        found = []
        for chunk in self.chunks:
            size, _, rest = chunk.partition(b"\r\n")
            assert len(rest) == int(size, 16) + 2
            found += [json.loads(line) for line in rest.splitlines() if line]
        return found

    @property
    def short(self) -> list[str]:
        return [f"{event['type']} {event['object']['metadata']['name']}" for event in self.events]


class Cluster:
    def __init__(self) -> None:
        self.store = Store(lambda: 1_800_000_000.0, RandomIds(1))
        for name in ("a", "b"):
            self.store.create(NAMESPACE, {"metadata": {"name": name}})
        self.hub = Hub(self.store)

    def watch(self, namespace: str = "", labels: str = "", fields: str = "", form: ResponseForm | None = None) -> Line:
        line = Line()
        subject = WatchSubject(selection(CONFIG_MAP, namespace, labels, fields), form or ResponseForm())
        self.hub.join(subject, Watcher(line))
        return line

    def make(self, name: str, namespace: str = "a", **labels: str) -> None:
        self.store.create(CONFIG_MAP, {"metadata": {"name": name, "namespace": namespace, "labels": labels}})

    def label(self, name: str, **labels: str | None) -> None:
        self.store.patch(Key(CONFIG_MAP, "a", name), {"metadata": {"labels": labels}})


def within(test: Callable[[Cluster], None]) -> None:
    """Watchers need a loop around them."""

    async def run() -> None:
        test(Cluster())

    asyncio.run(run())


def test_changes_come_in_order_as_one_chunk_a_commit() -> None:
    def check(cluster: Cluster) -> None:
        line = cluster.watch()
        cluster.make("x")
        cluster.label("x", k="v")
        cluster.hub.publish()
        cluster.store.delete(Key(CONFIG_MAP, "a", "x"))
        cluster.hub.publish()
        cluster.hub.publish()
        assert line.short == ["ADDED x", "MODIFIED x", "DELETED x"]
        assert len(line.chunks) == 2
        assert [event["object"]["metadata"]["resourceVersion"] for event in line.events] == ["4", "5", "6"]

    within(check)


def test_watchers_get_nothing_before_it_is_published() -> None:
    def check(cluster: Cluster) -> None:
        line = cluster.watch()
        cluster.make("x")
        assert line.events == []

    within(check)


def test_watchers_of_the_same_get_the_same_bytes_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    written = watching._written

    def counted(event: watching.EventType, raw: dict[str, Any]) -> bytes:
        encoded.append(event)
        return written(event, raw)

    monkeypatch.setattr(watching, "_written", counted)

    def check(cluster: Cluster) -> None:
        lines = [cluster.watch() for _ in range(5)] + [cluster.watch("a"), cluster.watch(labels="!none")]
        cluster.make("x")
        cluster.make("y")
        cluster.hub.publish()
        assert all(line.short == ["ADDED x", "ADDED y"] for line in lines)
        assert all(one is lines[0].chunks[0] for one in (line.chunks[0] for line in lines[:5]))
        assert len(encoded) == 2

    within(check)


def test_a_selection_sees_objects_enter_change_and_leave() -> None:
    def check(cluster: Cluster) -> None:
        line = cluster.watch(labels="color=red")
        cluster.make("x", color="blue")
        cluster.label("x", color="red")
        cluster.label("x", size="large")
        cluster.label("x", color="green")
        cluster.store.delete(Key(CONFIG_MAP, "a", "x"))
        cluster.hub.publish()
        assert line.short == ["ADDED x", "MODIFIED x", "DELETED x"]
        left = line.events[2]["object"]["metadata"]
        assert (left["labels"], left["resourceVersion"]) == ({"color": "red", "size": "large"}, "7")

    within(check)


def test_only_the_kind_namespace_and_name_that_are_watched_come() -> None:
    def check(cluster: Cluster) -> None:
        by_namespace, by_name = cluster.watch("a"), cluster.watch(fields="metadata.name=y")
        by_both, everything = cluster.watch("b", fields="metadata.name=y"), cluster.watch()
        cluster.make("x")
        cluster.make("y")
        cluster.make("y", "b")
        cluster.store.create(SECRET, {"metadata": {"name": "y", "namespace": "a"}})
        cluster.hub.publish()
        assert by_namespace.short == ["ADDED x", "ADDED y"]
        assert by_name.short == ["ADDED y", "ADDED y"]
        assert [event["object"]["metadata"]["namespace"] for event in by_both.events] == ["b"]
        assert len(everything.events) == 3

    within(check)


def test_a_watcher_that_does_not_read_is_cut_off_and_the_others_go_on() -> None:
    def check(cluster: Cluster) -> None:
        slow, quick = cluster.watch(), cluster.watch()
        slow.unread = FULL + 1
        cluster.make("x")
        cluster.hub.publish()
        cluster.make("y")
        cluster.hub.publish()
        assert slow.is_cut
        assert slow.short == ["ADDED x"]
        assert quick.short == ["ADDED x", "ADDED y"]

    within(check)


def test_beyond_the_budget_of_all_those_furthest_behind_are_cut_off() -> None:
    def check(cluster: Cluster) -> None:
        lines = [cluster.watch() for _ in range(20)]
        for line in lines[5:]:
            line.unread = BUDGET // 10
        for line in lines[5:8]:
            line.unread += 1
        cluster.make("x")
        cluster.hub.publish()
        cut = [line.is_cut for line in lines]
        assert cut[:5] == [False] * 5
        assert sum(line.unread for line in lines if not line.is_cut) <= BUDGET
        assert sum(line.unread for line in lines if not line.is_cut) > BUDGET * 8 // 10

    within(check)


def test_a_large_chunk_is_written_in_pieces_that_count() -> None:
    def check(cluster: Cluster) -> None:
        line = cluster.watch()
        cluster.store.create(CONFIG_MAP, {"metadata": {"name": "x", "namespace": "a"}, "data": {"a": "x" * 500_000}})
        cluster.hub.publish()
        assert len(line.chunks) > 1
        assert max(map(len, line.chunks)) <= 1 << 16
        line.chunks = [b"".join(bytes(one) for one in line.chunks)]
        assert line.short == ["ADDED x"]

    within(check)


def test_a_watcher_that_left_gets_nothing_and_leaves_nothing_behind() -> None:
    def check(cluster: Cluster) -> None:
        line, subject = Line(), WatchSubject(selection(CONFIG_MAP, "", "", ""), ResponseForm())
        watcher = Watcher(line)
        cluster.hub.join(subject, watcher)
        cluster.hub.leave(subject, watcher)
        cluster.hub.leave(subject, watcher)
        cluster.make("x")
        cluster.hub.publish()
        assert line.events == []
        assert (cluster.hub._groups, cluster.hub._by_place) == ({}, {})

    within(check)


def test_without_history_every_watcher_has_to_list_again() -> None:
    def check(cluster: Cluster) -> None:
        line, subject = Line(), WatchSubject(selection(CONFIG_MAP, "", "", ""), ResponseForm())
        watcher = Watcher(line)
        cluster.hub.join(subject, watcher)
        cluster.make("x")
        cluster.store.compact()
        cluster.hub.publish()
        (event,) = line.events
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert watcher.over.done()

    within(check)


def test_a_table_names_its_columns_in_the_first_event_only() -> None:
    def check(cluster: Cluster) -> None:
        table = ResponseForm(shape="table")
        early = cluster.watch(form=table)
        cluster.make("x")
        cluster.make("y")
        cluster.hub.publish()
        late = cluster.watch(form=table)
        cluster.make("z")
        cluster.hub.publish()
        assert [event["object"]["columnDefinitions"] is not None for event in early.events] == [True, False, False]
        assert [event["object"]["columnDefinitions"] is not None for event in late.events] == [True]
        assert [event["object"]["rows"][0]["cells"][0] for event in early.events] == ["x", "y", "z"]

    within(check)


def test_metadata_alone_is_sent_where_it_is_requested() -> None:
    def check(cluster: Cluster) -> None:
        line = cluster.watch(form=ResponseForm(shape="metadata"))
        cluster.make("x")
        cluster.hub.publish()
        (event,) = line.events
        assert event["object"].keys() == {"kind", "apiVersion", "metadata"}
        assert event["object"]["kind"] == "PartialObjectMetadata"

    within(check)


def test_a_bookmark_is_bare_but_for_its_version() -> None:
    subject = WatchSubject(selection(CONFIG_MAP, "", "", ""), ResponseForm())
    assert json.loads(watching.bookmark(subject, 7, 0.0, {"k": "v"})) == {
        "type": "BOOKMARK",
        "object": {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": "7", "annotations": {"k": "v"}},
        },
    }


def test_an_object_that_was_never_in_the_selection_does_not_leave_it() -> None:
    wanted = selection(CONFIG_MAP, "", "a=1", "")
    raw = {"metadata": {"name": "x", "labels": {}}}
    assert transition(wanted, Change(2, "ADDED", CONFIG_MAP, raw)) is None
    assert transition(wanted, Change(3, "DELETED", CONFIG_MAP, raw, raw)) is None
    inside = {"metadata": {"name": "x", "labels": {"a": "1"}}}
    assert transition(wanted, Change(4, "DELETED", CONFIG_MAP, inside, inside)) == WatchEvent("DELETED", inside)
