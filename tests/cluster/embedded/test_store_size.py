"""The size of an object: what a client may store, and what the host itself may."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.ids import RandomIds
from closeknit.cluster.embedded.store import LARGEST, Store, WriteOptions
from closeknit.cluster.errors import BadRequest, TooLarge
from closeknit.cluster.kinds import CONFIG_MAP, NAMESPACE
from closeknit.cluster.port import Key

CLIENT = WriteOptions("kubectl", trusted=False)


def store() -> Store:
    found = Store(lambda: 1.0, RandomIds(1))
    found.create(NAMESPACE, {"metadata": {"name": "default"}})
    return found


def config_map(size: int) -> dict[str, Any]:
    return {"metadata": {"name": "m", "namespace": "default"}, "data": {"a": "x" * size}}


def test_a_client_cannot_store_more_than_etcd_would() -> None:
    of = store()
    with pytest.raises(TooLarge, match=r"configmaps 'm' has \d+ bytes, and at most 1572864 are stored"):
        of.create(CONFIG_MAP, config_map(LARGEST), CLIENT)
    of.create(CONFIG_MAP, config_map(LARGEST - 1_000), CLIENT)
    before = of.version
    with pytest.raises(TooLarge):
        of.patch(Key(CONFIG_MAP, "default", "m"), {"data": {"b": "x" * 2_000}}, options=CLIENT)
    assert of.version == before


def test_a_dry_run_is_refused_too() -> None:
    with pytest.raises(TooLarge):
        store().create(CONFIG_MAP, config_map(LARGEST), WriteOptions("kubectl", trusted=False, dry_run=True))


def test_an_object_that_cannot_be_written_as_json_is_refused() -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(BadRequest, match="nested too deeply"):
        store().create(CONFIG_MAP, {**config_map(1), "data": deep}, WriteOptions(trusted=False))
