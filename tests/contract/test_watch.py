"""Watching: nothing is lost, nothing comes twice, and selections see objects enter and leave."""

from __future__ import annotations

from typing import Any

from contract.client import Api
from contract.expect import accepted, eventually, make
from contract.objects import config_map, config_maps, path, pod, pods

INITIAL_END = "k8s.io/initial-events-end"


def secrets(space: str, name: str | None = None) -> str:
    return path("v1/secrets", space, name)


def secret(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}}


def now(api: Api, collection: str) -> str:
    version = accepted(api.get(collection))["metadata"]["resourceVersion"]
    assert isinstance(version, str)
    return version


def short(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


def versions(events: list[dict[str, Any]]) -> list[int]:
    return [int(event["object"]["metadata"]["resourceVersion"]) for event in events]


def test_changes_come_in_order_with_the_whole_object(api: Api, own_space: str) -> None:
    with api.watch(secrets(own_space), resourceVersion=now(api, secrets(own_space))) as watch:
        held = make(api, secrets(own_space), secret("a"))
        changed = accepted(api.merge(secrets(own_space, "a"), {"metadata": {"labels": {"x": "1"}}}))
        accepted(api.delete(secrets(own_space, "a")))
        events = watch.take(3)
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert events[0]["object"] == held
    assert events[1]["object"] == changed
    assert (events[1]["object"]["kind"], events[1]["object"]["apiVersion"]) == ("Secret", "v1")


def test_a_deleted_object_comes_in_its_last_state_with_a_newer_version(api: Api, own_space: str) -> None:
    held = make(api, secrets(own_space), secret("a", color="red"))
    with api.watch(secrets(own_space), resourceVersion=held["metadata"]["resourceVersion"]) as watch:
        accepted(api.delete(secrets(own_space, "a")))
        event = watch.next()
    last = event["object"]
    assert event["type"] == "DELETED"
    assert int(last["metadata"]["resourceVersion"]) > int(held["metadata"]["resourceVersion"])
    assert last["metadata"]["labels"] == {"color": "red"}
    assert last["metadata"]["uid"] == held["metadata"]["uid"]


def test_versions_only_rise_and_a_later_watch_goes_on_where_the_first_stopped(api: Api, own_space: str) -> None:
    start = now(api, secrets(own_space))
    for number in range(6):
        make(api, secrets(own_space), secret(f"s{number}"))
    with api.watch(secrets(own_space), resourceVersion=start) as watch:
        first = watch.take(3)
    with api.watch(secrets(own_space), resourceVersion=versions(first)[-1]) as watch:
        second = watch.take(3)
        assert watch.quiet()
    assert short(first + second) == [("ADDED", f"s{number}") for number in range(6)]
    assert versions(first + second) == sorted(set(versions(first + second)))


def test_a_list_and_a_watch_from_its_version_miss_nothing(api: Api, own_space: str) -> None:
    make(api, secrets(own_space), secret("before"))
    body = accepted(api.get(secrets(own_space)))
    make(api, secrets(own_space), secret("between"))
    with api.watch(secrets(own_space), resourceVersion=body["metadata"]["resourceVersion"]) as watch:
        make(api, secrets(own_space), secret("after"))
        assert short(watch.take(2)) == [("ADDED", "between"), ("ADDED", "after")]


def test_without_a_version_what_is_there_comes_first(api: Api, own_space: str) -> None:
    make(api, secrets(own_space), secret("a"))
    make(api, secrets(own_space), secret("b"))
    with api.watch(secrets(own_space)) as watch:
        assert sorted(short(watch.take(2))) == [("ADDED", "a"), ("ADDED", "b")]
        make(api, secrets(own_space), secret("c"))
        assert short(watch.take(1)) == [("ADDED", "c")]


def test_version_zero_starts_with_what_is_there_too(api: Api, own_space: str) -> None:
    make(api, secrets(own_space), secret("a"))
    eventually(lambda: len(accepted(api.get(secrets(own_space), resourceVersion=0))["items"]) == 1)
    with api.watch(secrets(own_space), resourceVersion=0) as watch:
        assert short(watch.take(1)) == [("ADDED", "a")]
        assert watch.quiet()


def test_a_deletion_that_a_finalizer_holds_up_is_a_modification(api: Api, own_space: str) -> None:
    held = make(api, config_maps(own_space), config_map("a", finalizers=["example.com/hold"]))
    with api.watch(
        config_maps(own_space), resourceVersion=held["metadata"]["resourceVersion"], fieldSelector="metadata.name=a"
    ) as watch:
        accepted(api.delete(config_maps(own_space, "a")))
        event = watch.next()
        assert event["type"] == "MODIFIED"
        assert event["object"]["metadata"]["deletionTimestamp"]
        accepted(api.merge(config_maps(own_space, "a"), {"metadata": {"finalizers": None}}))
        event = watch.next()
    assert event["type"] == "DELETED"
    assert event["object"]["metadata"]["deletionTimestamp"]


def test_an_object_that_enters_a_selection_is_added_and_one_that_leaves_is_deleted(api: Api, own_space: str) -> None:
    start = now(api, secrets(own_space))
    with api.watch(secrets(own_space), resourceVersion=start, labelSelector="color=red") as watch:
        make(api, secrets(own_space), secret("a", color="blue"))
        entered = accepted(api.merge(secrets(own_space, "a"), {"metadata": {"labels": {"color": "red"}}}))
        accepted(api.merge(secrets(own_space, "a"), {"metadata": {"labels": {"size": "large"}}}))
        left = accepted(api.merge(secrets(own_space, "a"), {"metadata": {"labels": {"color": "green"}}}))
        accepted(api.delete(secrets(own_space, "a")))
        events = watch.take(3)
        assert watch.quiet()
    assert short(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert events[0]["object"] == entered
    assert events[2]["object"]["metadata"]["labels"] == {"color": "red", "size": "large"}
    assert events[2]["object"]["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]


def test_a_field_selection_sees_objects_enter_and_leave_too(api: Api, own_space: str) -> None:
    start = now(api, pods(own_space))
    with api.watch(pods(own_space), resourceVersion=start, fieldSelector="status.phase=Pending") as watch:
        make(api, pods(own_space), pod("a"))
        accepted(api.merge(pods(own_space, "a", "status"), {"status": {"phase": "Failed"}}))
        assert short(watch.take(2)) == [("ADDED", "a"), ("DELETED", "a")]


def test_one_object_can_be_watched_by_its_name(api: Api, own_space: str) -> None:
    start = now(api, secrets(own_space))
    with api.watch(secrets(own_space), resourceVersion=start, fieldSelector="metadata.name=a") as watch:
        make(api, secrets(own_space), secret("b"))
        make(api, secrets(own_space), secret("a"))
        assert short(watch.take(1)) == [("ADDED", "a")]
        assert watch.quiet()


def test_all_namespaces_can_be_watched_at_once(api: Api, space: str, own_space: str, name: str) -> None:
    start = now(api, path("v1/secrets"))
    with api.watch(path("v1/secrets"), resourceVersion=start, fieldSelector=f"metadata.name={name}") as watch:
        make(api, secrets(space), secret(name))
        make(api, secrets(own_space), secret(name))
        assert [event["object"]["metadata"]["namespace"] for event in watch.take(2)] == [space, own_space]


def test_a_watch_ends_after_its_timeout(api: Api, own_space: str) -> None:
    make(api, secrets(own_space), secret("a"))
    with api.watch(secrets(own_space), timeoutSeconds=1) as watch:
        assert short(watch.rest(within=5)) == [("ADDED", "a")]


def test_a_bookmark_comes_before_the_end_on_request(api: Api, own_space: str) -> None:
    make(api, secrets(own_space), secret("a"))
    start = now(api, secrets(own_space))
    with api.watch(secrets(own_space), resourceVersion=start, allowWatchBookmarks=True, timeoutSeconds=3) as watch:
        make(api, secrets(own_space), secret("b"))
        events = watch.rest(within=8)
    assert short(events[:1]) == [("ADDED", "b")]
    bookmarks = [event["object"] for event in events[1:]]
    assert bookmarks
    assert {event["type"] for event in events[1:]} == {"BOOKMARK"}
    assert (bookmarks[-1]["kind"], bookmarks[-1]["apiVersion"]) == ("Secret", "v1")
    assert int(bookmarks[-1]["metadata"]["resourceVersion"]) >= versions(events)[0]
    assert "name" not in bookmarks[-1]["metadata"]


def test_initial_events_end_with_a_bookmark_that_says_so(api: Api, own_space: str) -> None:
    for name in ("a", "b"):
        make(api, secrets(own_space), secret(name))
    with api.watch(
        secrets(own_space), sendInitialEvents=True, resourceVersionMatch="NotOlderThan", allowWatchBookmarks=True
    ) as watch:
        events = watch.take(3)
        make(api, secrets(own_space), secret("c"))
        late = watch.next()
    assert sorted(short(events[:2])) == [("ADDED", "a"), ("ADDED", "b")]
    assert events[2]["type"] == "BOOKMARK"
    assert events[2]["object"]["metadata"]["annotations"] == {INITIAL_END: "true"}
    assert versions(events)[2] >= max(versions(events)[:2])
    assert short([late]) == [("ADDED", "c")]
    assert versions([late])[0] > versions(events)[2]


def test_initial_events_of_an_empty_collection_are_the_bookmark_alone(api: Api, own_space: str) -> None:
    with api.watch(
        secrets(own_space), sendInitialEvents=True, resourceVersionMatch="NotOlderThan", allowWatchBookmarks=True
    ) as watch:
        event = watch.next()
    assert event["type"] == "BOOKMARK"
    assert event["object"]["metadata"]["annotations"][INITIAL_END] == "true"


def test_initial_events_are_selected_like_the_rest(api: Api, own_space: str) -> None:
    make(api, secrets(own_space), secret("a", color="red"))
    make(api, secrets(own_space), secret("b", color="blue"))
    with api.watch(
        secrets(own_space),
        sendInitialEvents=True,
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks=True,
        labelSelector="color=red",
    ) as watch:
        events = watch.take(2)
    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK"]
    assert events[0]["object"]["metadata"]["name"] == "a"


def test_initial_events_need_a_version_match(api: Api, space: str) -> None:
    with api.watch(secrets(space), sendInitialEvents=True) as watch:
        assert watch.status == 422
        assert watch.body["reason"] == "Invalid"


def test_a_watch_of_an_unreadable_selector_is_refused_before_it_starts(api: Api, space: str) -> None:
    with api.watch(secrets(space), labelSelector="a in (") as watch:
        assert watch.status == 400


def test_a_watch_from_too_old_a_version_is_expired_or_has_the_whole_history(api: Api, space: str) -> None:
    with api.watch(secrets(space), resourceVersion=1, timeoutSeconds=1) as watch:
        events = watch.rest(within=5) if watch.status == 200 else []
    errors = [event["object"] for event in events if event["type"] == "ERROR"]
    for error in [watch.body, *errors] if watch.status != 200 else errors:
        assert (error["kind"], error["code"], error["reason"]) == ("Status", 410, "Expired")


def test_every_watcher_sees_the_same(api: Api, own_space: str) -> None:
    start = now(api, secrets(own_space))
    with (
        api.watch(secrets(own_space), resourceVersion=start) as one,
        api.watch(secrets(own_space), resourceVersion=start) as two,
    ):
        for number in range(5):
            make(api, secrets(own_space), secret(f"s{number}"))
        assert one.take(5) == two.take(5)


def test_the_deletion_of_a_collection_is_one_event_an_object(api: Api, own_space: str) -> None:
    for number in range(3):
        make(api, secrets(own_space), secret(f"s{number}"))
    start = now(api, secrets(own_space))
    with api.watch(secrets(own_space), resourceVersion=start) as watch:
        accepted(api.delete(secrets(own_space)))
        events = watch.take(3)
    assert {event["type"] for event in events} == {"DELETED"}
    assert len(set(versions(events))) == 3


def test_a_write_that_changes_nothing_is_no_event(api: Api, own_space: str) -> None:
    held = make(api, secrets(own_space), secret("a"))
    with api.watch(secrets(own_space), resourceVersion=held["metadata"]["resourceVersion"]) as watch:
        accepted(api.put(secrets(own_space, "a"), held))
        assert watch.quiet()
