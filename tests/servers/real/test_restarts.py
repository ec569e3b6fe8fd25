"""Servers that stop and return, and history that is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contract.client import Api
from contract.expect import make, refused
from contract.objects import config_map, config_maps, path
from servers.cluster import RealCluster
from servers.components import API_SERVER, ETCD


@pytest.fixture(scope="module")
def bare() -> Iterator[RealCluster]:
    """Etcd and an API server without a watch cache for Secrets."""
    flags = {API_SERVER: ["--watch-cache-sizes=secrets#0"]}
    with RealCluster((), flags=flags, fsync=True) as cluster:
        yield cluster


@pytest.mark.parametrize("name", [API_SERVER, ETCD])
def test_objects_are_there_after_a_restart(bare: RealCluster, name: str) -> None:
    made = make(bare.api, config_maps("default"), config_map(f"before-{name}", {"key": "value"}))
    pid = bare.pids()[name]
    bare.restart(name)
    assert bare.pids()[name] != pid
    kept = bare.api.get(config_maps("default", f"before-{name}")).body
    assert kept == made
    make(bare.api, config_maps("default"), config_map(f"after-{name}"))


@pytest.mark.parametrize("name", [API_SERVER, ETCD])
def test_objects_are_there_after_a_kill(bare: RealCluster, name: str) -> None:
    made = make(bare.api, config_maps("default"), config_map(f"killed-{name}", {"key": "value"}))
    bare.kill(name)
    assert name not in bare.pids()
    bare.start(name)
    assert bare.api.get(config_maps("default", f"killed-{name}")).body == made


def test_an_old_watch_is_refused_after_compaction(bare: RealCluster) -> None:
    secrets = path("v1/secrets", "default")
    old = make(bare.api, secrets, {"metadata": {"name": "old"}})["metadata"]["resourceVersion"]
    make(bare.api, secrets, {"metadata": {"name": "new"}})
    with bare.api.watch(secrets, resourceVersion=old) as watch:
        assert watch.next()["object"]["metadata"]["name"] == "new", "until then, it is served"
    make(bare.api, secrets, {"metadata": {"name": "newer"}})
    assert bare.compact() > int(old) + 1
    assert expired(bare.api, secrets, old)


def test_an_old_watch_is_refused_after_compaction_and_a_restart(bare: RealCluster) -> None:
    maps = config_maps("default")
    old = make(bare.api, maps, config_map("old"))["metadata"]["resourceVersion"]
    make(bare.api, maps, config_map("new"))
    bare.compact()
    bare.restart(API_SERVER)
    assert expired(bare.api, maps, old)


def expired(api: Api, where: str, version: str) -> bool:
    """Whether the watch expired, in its first event or instead of it."""
    with api.watch(where, resourceVersion=version) as watch:
        if watch.status != 200:
            return bool(watch.status == 410)
        event = watch.next()
    return (event["type"], event["object"].get("code"), event["object"].get("reason")) == ("ERROR", 410, "Expired")


def test_an_old_page_is_refused_after_compaction(bare: RealCluster) -> None:
    secrets = path("v1/secrets", "default")
    for number in range(3):
        make(bare.api, secrets, {"metadata": {"name": f"page-{number}"}})
    first = bare.api.get(secrets, limit=1).body
    make(bare.api, secrets, {"metadata": {"name": "later"}})
    bare.compact()
    refused(bare.api.get(secrets, limit=1, **{"continue": first["metadata"]["continue"]}), 410, "Expired")
