"""Objects of stories with NUMA zones: hosts with zones and devices, and pods that pin what they ask for."""

from __future__ import annotations

import json
from typing import Any

from closeknit.dialects.simulated_zones import NUMA

from . import objects

Raw = dict[str, Any]
GPU = "nvidia.com/gpu"
GPUS = 4
POLICY = "closeknit.dev/numa-policy"


def host(raw: Raw, numa: Raw | None) -> Raw:
    """A host of stories with devices and, if they are given, zones."""
    status, meta = raw["status"], raw["metadata"]
    room = {**status["allocatable"], GPU: str(GPUS)}
    notes = {} if numa is None else {NUMA: json.dumps(numa)}
    return {
        **raw,
        "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), **notes}},
        "status": {**status, "allocatable": room, "capacity": room},
    }


def resource_groups(cpu: int) -> list[Raw]:
    """Enough of everything but cpu."""
    amounts = {"cpu": str(cpu), "memory": "10Ti", GPU: "1000"}
    resources = [{"name": name, "nominalQuota": amount} for name, amount in amounts.items()]
    return [{"coveredResources": list(amounts), "flavors": [{"name": "gpu", "resources": resources}]}]


def submitted(facts: Raw) -> list[Raw]:
    """The objects of a submission whose pods pin what they ask for."""
    found = objects.submitted(facts)
    for raw in found:
        match raw["kind"]:
            case "JobSet":
                _job_set(raw, facts)
            case "Job":
                _pin(raw["spec"]["template"], facts["pinned"])
            case _:
                _pin(raw, facts["pinned"])
    return found


def foreign_pod(facts: Raw) -> Raw:
    """A pinned pod that is bound by hand."""
    raw = objects.other_pod({**facts, "cpu": 1})
    raw["metadata"]["annotations"]["closeknit.dev/run-time"] = f"{facts['seconds']}s"
    _pin(raw, facts["pinned"])
    return raw


def _job_set(raw: Raw, facts: Raw) -> None:
    [workers] = raw["spec"]["replicatedJobs"]
    _pin(workers["template"]["spec"]["template"], facts["pinned"])
    if "leader" not in facts:
        return
    leader = json.loads(json.dumps(workers))
    leader["name"], leader["replicas"] = "l", 1
    leader["template"]["spec"] |= {"parallelism": 1, "completions": 1}
    notes = leader["template"]["spec"]["template"]["metadata"]["annotations"]
    for name in [one for one in notes if "slice" in one]:
        del notes[name]
    _pin(leader["template"]["spec"]["template"], facts["leader"])
    raw["spec"]["replicatedJobs"] = [leader, workers]


def _pin(template: Raw, pinned: Raw) -> None:
    if pinned["policy"]:
        template["metadata"].setdefault("annotations", {})[POLICY] = pinned["policy"]
    spec = template["spec"]
    spec["containers"] = [_container("c", pinned, pinned["cpu"], pinned["gpu"], pinned["memory"])]
    if pinned["second"]:
        spec["containers"].append(_container("second", pinned, pinned["second"], 0, 1))
    inits = []
    if pinned["init"]:
        inits.append(_container("init", pinned, pinned["init"], min(1, pinned["gpu"]), 1))
    if pinned["sidecar"]:
        inits.append({**_container("sidecar", pinned, pinned["sidecar"], 0, 1), "restartPolicy": "Always"})
    if inits:
        spec["initContainers"] = inits


def _container(name: str, pinned: Raw, cpu: int, gpu: int, memory: int) -> Raw:
    amounts = {"cpu": str(cpu), "memory": f"{memory}Gi", **({GPU: str(gpu)} if gpu else {})}
    limits = amounts if pinned["guaranteed"] else {GPU: str(gpu)} if gpu else {}
    return {"name": name, "image": "i", "resources": {"requests": amounts, "limits": limits}}
