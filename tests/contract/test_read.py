"""Reading: single objects, lists, pages and the versions they stand for."""

from __future__ import annotations

from contract.client import Api
from contract.expect import accepted, make, refused
from contract.objects import config_map, config_maps, deployments, jobs, path, pods

SECRETS = "v1/secrets"


def fill(api: Api, space: str, count: int) -> None:
    for number in range(count):
        make(api, path(SECRETS, space), {"metadata": {"name": f"s{number}"}})


def names(body: dict[str, list[dict[str, dict[str, str]]]]) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


def test_a_missing_object_is_not_found(api: Api, space: str) -> None:
    details = refused(api.get(deployments(space, "nothing")), 404, "NotFound")
    assert details == {"name": "nothing", "group": "apps", "kind": "deployments"}


def test_an_empty_list_has_a_kind_a_version_and_no_items(api: Api, own_space: str) -> None:
    body = accepted(api.get(jobs(own_space)))
    assert (body["kind"], body["apiVersion"], body["items"]) == ("JobList", "batch/v1", [])
    assert int(body["metadata"]["resourceVersion"]) > 0


def test_reading_a_namespace_that_does_not_exist_gives_an_empty_list(api: Api, name: str) -> None:
    assert accepted(api.get(pods(name)))["items"] == []


def test_the_items_of_a_list_are_in_the_order_of_their_names(api: Api, own_space: str) -> None:
    for name in ("b", "a", "c"):
        make(api, path(SECRETS, own_space), {"metadata": {"name": name}})
    assert names(accepted(api.get(path(SECRETS, own_space)))) == ["a", "b", "c"]


def test_the_items_of_a_list_leave_kind_and_version_to_the_list(api: Api, own_space: str) -> None:
    fill(api, own_space, 1)
    (item,) = accepted(api.get(path(SECRETS, own_space)))["items"]
    assert "kind" not in item
    assert "apiVersion" not in item


def test_a_list_across_namespaces_holds_the_objects_of_all(api: Api, space: str, own_space: str, name: str) -> None:
    for each in (space, own_space):
        make(api, config_maps(each), config_map(name))
    body = accepted(api.get(path("v1/configmaps"), fieldSelector=f"metadata.name={name}"))
    assert {item["metadata"]["namespace"] for item in body["items"]} == {space, own_space}


def test_a_list_is_at_least_as_new_as_the_newest_object_in_it(api: Api, own_space: str) -> None:
    fill(api, own_space, 3)
    body = accepted(api.get(path(SECRETS, own_space)))
    newest = max(int(item["metadata"]["resourceVersion"]) for item in body["items"])
    assert int(body["metadata"]["resourceVersion"]) >= newest


def test_a_page_has_a_token_for_the_rest_and_the_number_of_what_is_left(api: Api, own_space: str) -> None:
    fill(api, own_space, 5)
    first = accepted(api.get(path(SECRETS, own_space), limit=2))
    assert names(first) == ["s0", "s1"]
    assert first["metadata"]["remainingItemCount"] == 3
    token = first["metadata"]["continue"]
    second = accepted(api.get(path(SECRETS, own_space), limit=2, **{"continue": token}))
    assert names(second) == ["s2", "s3"]
    assert second["metadata"]["remainingItemCount"] == 1
    last = accepted(api.get(path(SECRETS, own_space), limit=2, **{"continue": second["metadata"]["continue"]}))
    assert names(last) == ["s4"]
    assert "continue" not in last["metadata"]
    assert "remainingItemCount" not in last["metadata"]


def test_all_pages_show_the_moment_of_the_first(api: Api, own_space: str) -> None:
    fill(api, own_space, 4)
    first = accepted(api.get(path(SECRETS, own_space), limit=2))
    make(api, path(SECRETS, own_space), {"metadata": {"name": "s9"}})
    accepted(api.delete(path(SECRETS, own_space, "s3")))
    rest = accepted(api.get(path(SECRETS, own_space), limit=9, **{"continue": first["metadata"]["continue"]}))
    assert names(rest) == ["s2", "s3"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_limit_that_is_not_reached_leaves_no_token(api: Api, own_space: str) -> None:
    fill(api, own_space, 2)
    body = accepted(api.get(path(SECRETS, own_space), limit=2))
    assert names(body) == ["s0", "s1"]
    assert "continue" not in body["metadata"]


def test_a_page_of_a_selection_does_not_count_what_is_left(api: Api, own_space: str) -> None:
    for number in range(3):
        make(api, path(SECRETS, own_space), {"metadata": {"name": f"s{number}", "labels": {"a": "b"}}})
    body = accepted(api.get(path(SECRETS, own_space), limit=1, labelSelector="a=b"))
    assert names(body) == ["s0"]
    assert body["metadata"]["continue"]
    assert "remainingItemCount" not in body["metadata"]


def test_a_token_that_the_server_did_not_give_is_a_bad_request(api: Api, space: str) -> None:
    refused(api.get(pods(space), limit=1, **{"continue": "made-up"}), 400, "BadRequest")


def test_a_list_of_an_old_version_may_be_newer_but_not_older(api: Api, own_space: str) -> None:
    fill(api, own_space, 2)
    seen = accepted(api.get(path(SECRETS, own_space)))["metadata"]["resourceVersion"]
    fill_more = make(api, path(SECRETS, own_space), {"metadata": {"name": "s2"}})
    body = accepted(api.get(path(SECRETS, own_space), resourceVersion=seen, resourceVersionMatch="NotOlderThan"))
    assert int(body["metadata"]["resourceVersion"]) >= int(seen)
    newest = fill_more["metadata"]["resourceVersion"]
    body = accepted(api.get(path(SECRETS, own_space), resourceVersion=newest))
    assert names(body) == ["s0", "s1", "s2"]


def test_a_list_of_an_exact_version_shows_that_moment(api: Api, own_space: str) -> None:
    fill(api, own_space, 2)
    seen = accepted(api.get(path(SECRETS, own_space)))["metadata"]["resourceVersion"]
    make(api, path(SECRETS, own_space), {"metadata": {"name": "s2"}})
    body = accepted(api.get(path(SECRETS, own_space), resourceVersion=seen, resourceVersionMatch="Exact"))
    assert names(body) == ["s0", "s1"]
    assert body["metadata"]["resourceVersion"] == seen


def test_a_version_match_without_a_version_is_refused(api: Api, space: str) -> None:
    answer = api.get(pods(space), resourceVersionMatch="NotOlderThan")
    refused(answer, 422, "Invalid", "resourceVersionMatch")


def test_a_version_that_is_no_number_is_refused(api: Api, space: str) -> None:
    assert api.get(pods(space), resourceVersion="soon").status in (400, 422)


def test_a_get_at_version_zero_shows_the_object(api: Api, space: str, name: str) -> None:
    held = make(api, config_maps(space), config_map(name))
    version = held["metadata"]["resourceVersion"]
    assert accepted(api.get(config_maps(space, name), resourceVersion=version)) == held
