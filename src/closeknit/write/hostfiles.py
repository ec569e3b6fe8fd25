"""The ConfigMap with the host files of a workload, named after its job and owned by the Workload."""

from __future__ import annotations

from collections.abc import Sequence

from ..cluster.kinds import CONFIG_MAP
from ..cluster.port import Create, Key, Patch, Raw, Write
from ..dialects.kueue.jobs.workload_object import owner_reference
from ..dialects.own_marks import HOSTFILES
from ..model.launch import FORMATS

LONGEST = 253


def name_of(job: str) -> str:
    """The name that pods mount: train-hostfile for the job train."""
    return f"{job[: LONGEST - 9]}-hostfile"


def data(form: str, hosts: Sequence[str]) -> Raw:
    """The files that a launcher reads: HOSTFILES["openmpi"] are a hostfile and a rankfile."""
    return {file: "".join(f"{line}\n" for line in FORMATS[file](hosts)) for file in HOSTFILES[form]}


def created(workload: Raw, job: str, data: Raw) -> Write:
    meta = {
        "name": name_of(job),
        "namespace": workload["metadata"]["namespace"],
        "ownerReferences": [owner_reference(workload, controller=True)],
    }
    return Create(CONFIG_MAP, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})


def changed(workload: Raw, job: str, data: Raw) -> Write:
    """Replace the data; refused if the ConfigMap has another owner."""
    key = Key(CONFIG_MAP, workload["metadata"]["namespace"], name_of(job))
    owned = {"op": "test", "path": "/metadata/ownerReferences/0/uid", "value": workload["metadata"]["uid"]}
    return Patch(key, [owned, {"op": "add", "path": "/data", "value": data}], "json")
