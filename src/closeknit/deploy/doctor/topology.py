"""Whether nodes have the labels of the topologies, and whether every flavor has nodes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec

from ...cluster.kinds import NODE, RESOURCE_FLAVOR, TOPOLOGY
from ...cluster.kube.client import METADATA, path
from ...model.number import number_of
from ..marks import Raw
from .finding import Finding, Patient, few, ok, problem, warning

CHECK = "topology"


async def check(patient: Patient) -> AsyncIterator[Finding]:
    if not patient.served.can(RESOURCE_FLAVOR, "list") or not patient.served.can(TOPOLOGY, "list"):
        return
    flavors = await patient.client.list(RESOURCE_FLAVOR)
    levels = {one["metadata"]["name"]: _levels(one) for one in await patient.client.list(TOPOLOGY)}
    labels = await _labels(patient)
    wrong = [one for flavor in flavors for one in _wrong(flavor, levels, labels)]
    for one in wrong:
        yield one
    if not flavors:
        yield ok(CHECK, "there is no ResourceFlavor yet")
    elif not wrong:
        counts = f"{number_of(len(flavors), 'flavor')} and {number_of(len(labels), 'node')}"
        yield ok(CHECK, f"{counts}: every flavor has nodes, and they have the labels of its topology")


def _levels(topology: Raw) -> list[str]:
    return [str(one["nodeLabel"]) for one in topology["spec"].get("levels") or ()]


async def _labels(patient: Patient) -> Mapping[str, Mapping[str, str]]:
    listing = await patient.client.listing(path(NODE), accept=METADATA)
    found = (msgspec.json.decode(one)["metadata"] for one in listing.items)
    return {meta["name"]: meta.get("labels") or {} for meta in found}


def _wrong(flavor: Raw, levels: Mapping[str, Sequence[str]], labels: Mapping[str, Mapping[str, str]]) -> list[Finding]:
    name, spec = flavor["metadata"]["name"], flavor.get("spec") or {}
    wanted = (spec.get("nodeLabels") or {}).items()
    nodes = [node for node, has in labels.items() if wanted <= has.items()]
    if not nodes:
        said = ", ".join(f"{key}={value}" for key, value in wanted) or "any label"
        return [warning(CHECK, f"resourceflavor {name} matches no node: none has {said}", "fix spec.nodeLabels")]
    topology = spec.get("topologyName")
    if not topology:
        return []
    if topology not in levels:
        text = f"resourceflavor {name} names the topology {topology}, which does not exist"
        return [problem(CHECK, text, "create it, or fix spec.topologyName")]
    return [
        warning(
            CHECK,
            f"{len(lacking)} of {len(nodes)} nodes of resourceflavor {name} lack the label {level}: {few(lacking)}",
            f"label them; until then no workload that requests topology {topology} is placed there",
        )
        for level in levels[topology]
        if (lacking := [node for node in nodes if level not in labels[node]])
    ]
