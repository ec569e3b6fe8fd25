"""Every object of the conformance data is read, and every status is written back as it was."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from closeknit.dialects.kueue import objects
from closeknit.model.encoding import decode
from closeknit.model.resources import amount

DATA = Path(__file__).parents[5] / "shared" / "conformance"
READERS = {
    "additionalClusterQueues": objects.cluster_queue,
    "additionalLocalQueues": objects.local_queue,
    "admissionChecks": objects.admission_check,
    "admitted": objects.workload,
    "baseFlavors": objects.flavor,
    "clusterQueues": objects.cluster_queue,
    "cohorts": objects.cohort,
    "flavors": objects.flavor,
    "queues": objects.local_queue,
    "resourceFlavors": objects.flavor,
    "topologies": objects.topology,
    "wantWorkloads": objects.workload,
    "workloads": objects.workload,
}

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no conformance data at {DATA}")


def cases() -> Iterator[dict[str, Any]]:
    """Everything that has objects by kind: cases, and the waves of cases."""
    for folder in sorted([*DATA.glob("schedule*"), *DATA.glob("random_cycle*"), *DATA.glob("preemption*")]):
        for path in folder.iterdir():
            lines = gzip.decompress(path.read_bytes()).splitlines() if path.suffix == ".gz" else [path.read_bytes()]
            for line in lines:
                case = json.loads(line)
                yield case
                yield from case.get("waves") or ()


def plain(value: Any, key: str = "") -> Any:
    """Normalised: without empty values, quantities as amounts, times as instants, assignments as domains."""
    if isinstance(value, dict) and key == "topologyAssignment":
        return decode(value)
    if isinstance(value, dict) and key in ("resourceUsage", "resources"):
        return {name: amount(name, quantity) for name, quantity in value.items()}
    if isinstance(value, dict):
        pairs = ((name, plain(item, name)) for name, item in value.items())
        return {name: item for name, item in pairs if item not in (None, {}, [], "")}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return datetime.fromisoformat(value) if key in ("lastTransitionTime", "requeueAt") and value else value


def test_every_object_is_read_and_every_status_survives() -> None:
    counts: Counter[str] = Counter()
    for case in cases():
        listed = {**case, "workloads": [*(case.get("workloads") or ()), *filter(None, [case.get("incoming")])]}
        for key, reader in READERS.items():
            for raw in listed.get(key) or ():
                value = reader(raw)
                counts[key] += 1
                if reader is objects.workload:
                    status = objects.workload_status(getattr(value, "status"))  # noqa: B009 - of many readers
                    assert plain(status) == plain(raw.get("status") or {})
    assert counts["workloads"] > 10_000
    assert counts.keys() == READERS.keys()
