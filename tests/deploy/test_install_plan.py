"""What an installation would change, and what it refuses before it has changed anything."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.deploy import kinds as server_kinds
from closeknit.deploy.bundle import stages
from closeknit.deploy.install import install
from closeknit.deploy.kinds import kind_of
from closeknit.deploy.objects import InstallOptions
from closeknit.deploy.plan import PlanStep, plan
from closeknit.deploy.uninstall import Uninstalling
from closeknit.deploy.versions import rank
from closeknit.model.mistake import InputError
from deploy.server import Server

Raw = dict[str, Any]
WISHES = InstallOptions()
EVERYTHING = [one for stage in stages(WISHES) for one in stage.objects]


def planned(server: Server, wishes: InstallOptions = WISHES) -> list[PlanStep]:
    return asyncio.run(plan(server, stages(wishes)))


def installed(server: Server, wishes: InstallOptions = WISHES) -> list[PlanStep]:
    async def run() -> list[PlanStep]:
        steps = await plan(server, stages(wishes))
        await install(server, steps, lambda _: None)
        return steps

    return asyncio.run(run())


def words(steps: list[PlanStep]) -> set[str]:
    return {one.word for one in steps}


@contextmanager
def refused(server: Server, text: str) -> Iterator[None]:
    with pytest.raises(InputError, match=text):
        yield
    assert server.done == []


def of(kind: str, **changes: Any) -> Raw:
    """An object of ours as it was installed, with something else in its metadata."""
    found = next(one for one in EVERYTHING if one["kind"] == kind)
    return {**found, "metadata": {**found["metadata"], **changes}}


def test_a_plan_changes_nothing() -> None:
    server = Server()
    assert words(planned(server)) == {"created"}
    assert server.done == []


def test_everything_is_applied_in_order() -> None:
    server = Server()
    installed(server)
    assert [name for _, name in server.done] == [
        f"{kind_of(one).singular}/{one['metadata']['name']}" for one in EVERYTHING
    ]


def test_a_second_time_nothing_changes() -> None:
    server = Server()
    installed(server)
    assert words(planned(server)) == {"unchanged"}


def test_another_image_changes_the_deployment_alone() -> None:
    server = Server()
    installed(server)
    changed = [one for one in planned(server, replace(WISHES, image="other:1")) if one.word != "unchanged"]
    assert [(one.sent["kind"], one.word) for one in changed] == [("Deployment", "changed")]
    assert changed[0].before is not None
    assert changed[0].after is not None
    images = [
        one["spec"]["template"]["spec"]["containers"][0]["image"] for one in (changed[0].before, changed[0].after)
    ]
    assert images == [WISHES.image, "other:1"]


@pytest.mark.parametrize("group", ["kueue.x-k8s.io", "topology.node.k8s.io"])
def test_definitions_of_others_are_left_as_they_are(group: str) -> None:
    found = next(one for one in EVERYTHING if one.get("spec", {}).get("group") == group)
    theirs = {**found, "metadata": {**found["metadata"], "labels": {}}}
    server = Server(theirs)
    steps = installed(server)
    name = theirs["metadata"]["name"]
    assert [one.sent["metadata"]["name"] for one in steps if one.word == "left as it is"] == [name]
    assert ("patch", f"customresourcedefinition/{name}") not in server.done


def test_any_other_object_of_others_is_an_error() -> None:
    server = Server(of("ClusterRole", labels={"app.kubernetes.io/part-of": "something"}))
    with refused(server, "clusterrole/closeknit-controller: already exists and is not part of closeknit"):
        installed(server)


def test_a_namespace_that_was_made_for_us_is_taken() -> None:
    server = Server(of("Namespace", labels={}))
    installed(server)
    assert server.named(kinds.NAMESPACE, "closeknit-system")["metadata"]["labels"]["app.kubernetes.io/part-of"]


def test_an_older_version_is_not_installed_over_a_newer_one() -> None:
    server = Server()
    installed(server, replace(WISHES, version="9.10.0"))
    server.done.clear()
    with refused(server, r"is of closeknit 9\.10\.0, and this is 0\.1\.0"):
        installed(server)


def test_a_newer_version_is_installed_over_an_older_one() -> None:
    server = Server()
    installed(server)
    assert words(installed(server, replace(WISHES, version="9.10.0"))) == {"changed"}


def test_versions_are_compared_by_their_numbers() -> None:
    ordered = ["", "0.9", "0.10.0rc1", "0.10.0", "0.10.1", "1.0"]
    assert sorted(["1.0", "0.10.0", "", "0.10.1", "0.9", "0.10.0rc1"], key=rank) == ordered
    assert rank("v1.0.0") == rank("1.0")


def test_there_is_one_installation_in_a_cluster() -> None:
    server = Server()
    installed(server)
    server.done.clear()
    with refused(server, "closeknit is installed in the namespace closeknit-system, not elsewhere"):
        installed(server, replace(WISHES, namespace="elsewhere"))


def test_kinds_that_are_not_served_are_skipped() -> None:
    server = Server(absent={*server_kinds.OLDER, *server_kinds.OLDER.values()})
    skipped = [one for one in installed(server) if one.word == "skipped"]
    assert {kind_of(one.sent) for one in skipped} == set(server_kinds.OLDER)
    assert not any("mutating" in name for _, name in server.done)


def mutating(server: Server) -> set[str]:
    """The versions in which a server has mutating policies and bindings."""
    return {kind.version for kind, _, _ in server.objects if kind.kind.startswith("MutatingAdmission")}


def test_a_server_that_has_policies_in_an_older_version_gets_them_so() -> None:
    server = Server(absent=set(server_kinds.OLDER))
    assert words(installed(server)) == {"created"}
    assert mutating(server) == {"v1beta1"}
    assert words(planned(server)) == {"unchanged"}
    fewer = replace(WISHES, rules=replace(WISHES.rules, frameworks=frozenset({"batch/job"})))
    installed(server, fewer)
    assert ("delete", "mutatingadmissionpolicy/closeknit-jobsets") in server.done
    asyncio.run(Uninstalling(server, WISHES, lambda _: None).run(purge=False))
    assert mutating(server) == set()


def test_of_two_versions_the_newer_is_taken() -> None:
    server = Server()
    installed(server)
    assert mutating(server) == {"v1"}


def test_a_policy_that_the_configuration_has_no_more_is_deleted() -> None:
    """It would go on holding jobs that the controller does not start."""
    server = Server()
    installed(server)
    fewer = replace(WISHES, rules=replace(WISHES.rules, frameworks=frozenset({"batch/job"})))
    deleted = {one.sent["metadata"]["name"] for one in installed(server, fewer) if one.word == "deleted"}
    assert "closeknit-jobsets" in deleted
    assert "closeknit-jobs" not in deleted
    assert ("delete", "mutatingadmissionpolicy/closeknit-jobsets") in server.done
    assert words(planned(server, fewer)) == {"unchanged"}
