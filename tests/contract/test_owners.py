"""Owners and dependents: background, foreground and orphan deletion, and objects without their owner."""

from __future__ import annotations

from contract.client import Api
from contract.expect import accepted, eventually, gone, make, owner
from contract.objects import config_map, config_maps, job, jobs, path

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"


def test_the_dependents_of_a_deleted_object_are_deleted_after_it(api: Api, space: str, name: str) -> None:
    top = make(api, config_maps(space), config_map(name))
    make(api, config_maps(space), config_map(f"{name}-part", ownerReferences=[owner(top)]))
    accepted(api.delete(config_maps(space, name), propagationPolicy="Background"))
    assert gone(api, config_maps(space, name))()
    eventually(gone(api, config_maps(space, f"{name}-part")))


def test_ownership_reaches_down_several_steps_and_across_kinds(api: Api, space: str, name: str) -> None:
    top = make(api, jobs(space), job(name))
    part = make(api, config_maps(space), config_map(f"{name}-part", ownerReferences=[owner(top)]))
    make(api, path("v1/secrets", space), {"metadata": {"name": name, "ownerReferences": [owner(part)]}})
    accepted(api.delete(jobs(space, name), {"propagationPolicy": "Background"}))
    eventually(gone(api, path("v1/secrets", space, name)))
    assert gone(api, config_maps(space, f"{name}-part"))()


def test_in_the_foreground_the_owner_waits_for_what_blocks_it(api: Api, space: str, name: str) -> None:
    top = make(api, config_maps(space), config_map(name))
    part = config_map(
        f"{name}-part", ownerReferences=[owner(top, blockOwnerDeletion=True)], finalizers=["example.com/x"]
    )
    make(api, config_maps(space), part)
    body = accepted(api.delete(config_maps(space, name), propagationPolicy="Foreground"))
    assert body["kind"] == "ConfigMap"
    held = accepted(api.get(config_maps(space, name)))["metadata"]
    assert held["finalizers"] == [FOREGROUND]
    assert held["deletionTimestamp"]
    below = config_maps(space, f"{name}-part")
    eventually(lambda: "deletionTimestamp" in accepted(api.get(below))["metadata"])
    assert api.get(config_maps(space, name)).status == 200
    accepted(api.merge(below, {"metadata": {"finalizers": None}}))
    eventually(gone(api, config_maps(space, name)))
    assert gone(api, below)()


def test_in_the_foreground_the_owner_does_not_wait_for_what_does_not_block(api: Api, space: str, name: str) -> None:
    top = make(api, config_maps(space), config_map(name))
    part = config_map(f"{name}-part", ownerReferences=[owner(top)], finalizers=["example.com/x"])
    make(api, config_maps(space), part)
    accepted(api.delete(config_maps(space, name), propagationPolicy="Foreground"))
    eventually(gone(api, config_maps(space, name)))
    below = config_maps(space, f"{name}-part")
    eventually(lambda: "deletionTimestamp" in accepted(api.get(below))["metadata"])
    accepted(api.merge(below, {"metadata": {"finalizers": None}}))
    eventually(gone(api, below))


def test_orphans_stay_and_forget_their_owner(api: Api, space: str, name: str) -> None:
    top = make(api, config_maps(space), config_map(name))
    make(api, config_maps(space), config_map(f"{name}-part", ownerReferences=[owner(top)]))
    accepted(api.delete(config_maps(space, name), propagationPolicy="Orphan"))
    eventually(gone(api, config_maps(space, name)))
    below = accepted(api.get(config_maps(space, f"{name}-part")))["metadata"]
    assert "ownerReferences" not in below
    assert "deletionTimestamp" not in below


def test_a_dependent_with_another_owner_stays(api: Api, space: str, name: str) -> None:
    one = make(api, config_maps(space), config_map(f"{name}-1"))
    two = make(api, config_maps(space), config_map(f"{name}-2"))
    make(api, config_maps(space), config_map(name, ownerReferences=[owner(one), owner(two)]))
    accepted(api.delete(config_maps(space, f"{name}-1")))

    def owners() -> list[str]:
        return [each["name"] for each in accepted(api.get(config_maps(space, name)))["metadata"]["ownerReferences"]]

    eventually(lambda: owners() == [f"{name}-2"])


def test_an_object_made_under_an_owner_that_is_gone_goes_too(api: Api, space: str, name: str) -> None:
    top = make(api, config_maps(space), config_map(name))
    accepted(api.delete(config_maps(space, name)))
    make(api, config_maps(space), config_map(f"{name}-late", ownerReferences=[owner(top)]))
    eventually(gone(api, config_maps(space, f"{name}-late")))


def test_an_owner_of_the_same_name_but_another_uid_is_another_one(api: Api, space: str, name: str) -> None:
    old = make(api, config_maps(space), config_map(name))
    accepted(api.delete(config_maps(space, name)))
    make(api, config_maps(space), config_map(name))
    make(api, config_maps(space), config_map(f"{name}-part", ownerReferences=[owner(old)]))
    eventually(gone(api, config_maps(space, f"{name}-part")))
    assert api.get(config_maps(space, name)).status == 200


def test_a_job_deleted_with_no_policy_leaves_its_dependents(api: Api, space: str, name: str) -> None:
    top = make(api, jobs(space), job(name))
    make(api, config_maps(space), config_map(name, ownerReferences=[owner(top)]))
    body = accepted(api.delete(jobs(space, name)))
    assert body["kind"] == "Job"
    assert body["metadata"]["finalizers"] == [ORPHAN]
    eventually(gone(api, jobs(space, name)))
    eventually(lambda: "ownerReferences" not in accepted(api.get(config_maps(space, name)))["metadata"])
