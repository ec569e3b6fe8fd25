"""NUMA zones: whether nodes report them, and whether what they report can be relied on.

Which report matches which pods, and which kubelets refused pods, only the control plane knows: it is asked, and what it
does not answer is left out.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping

import msgspec

from ...cluster.kinds import NODE, NODE_TOPOLOGY, Kind
from ...cluster.kube.client import METADATA, path
from ...dialects.own_marks import NUMA
from ...model.number import number_of
from ..marks import Raw
from .finding import Finding, Patient, few, ok, problem, warning

CHECK = "zones"
MOST = 5
AGENTS = "NFD's topology-updater or resource-topology-exporter"


async def check(patient: Patient) -> AsyncIterator[Finding]:
    nodes = await _metadata(patient, NODE)
    view = (None if patient.zones is None else await patient.zones()) or {}
    expected = {*view.get("expected", ()), *(name for name, meta in nodes.items() if _has_policy(meta))}
    if not patient.served.can(NODE_TOPOLOGY, "list"):
        yield _not_served(sorted(expected))
        return
    reports = await _metadata(patient, NODE_TOPOLOGY)
    found = [*_gaps(nodes, reports, expected), *_doubts(view), *_pauses(view)]
    for one in found:
        yield one
    if not found:
        yield ok(CHECK, _summary(len(nodes), len(nodes.keys() & reports.keys())))


async def _metadata(patient: Patient, kind: Kind) -> dict[str, Raw]:
    listing = await patient.client.listing(path(kind), accept=METADATA)
    found = (msgspec.json.decode(one)["metadata"] for one in listing.items)
    return {meta["name"]: meta for meta in found}


def _has_policy(meta: Raw) -> bool:
    """Whether a simulated node has zones whose kubelet refuses pods."""
    note = (meta.get("annotations") or {}).get(NUMA) or ""
    return any(policy in note for policy in ("single-numa-node", "restricted", "best-effort"))


def _not_served(expected: list[str]) -> Finding:
    text = "noderesourcetopologies are not served, so pods are placed by node totals"
    if not expected:
        return ok(CHECK, text)
    lacking = f"{text}, although {few(expected)} have a topology manager policy"
    return warning(CHECK, lacking, f"install the CustomResourceDefinition and {AGENTS}")


def _gaps(nodes: Mapping[str, Raw], reports: Mapping[str, Raw], expected: set[str]) -> Iterator[Finding]:
    strange = sorted(reports.keys() - nodes.keys())
    if strange:
        text = f"noderesourcetopologies of nodes that do not exist: {len(strange)} ({few(strange)})"
        yield warning(CHECK, text, "delete them, or let the agent do so")
    silent = sorted((expected & nodes.keys()) - reports.keys())
    if silent:
        text = f"{number_of(len(silent), 'node')} with a topology manager policy and no report: {few(silent)}"
        text += "; pods are placed there by node totals, and kubelets may refuse them"
        yield warning(CHECK, text, f"run {AGENTS}")


def _doubts(view: Raw) -> Iterator[Finding]:
    doubts = [one["doubt"] for one in view.get("nodes", ()) if one.get("doubt")]
    for text in doubts[:MOST]:
        sentence, _, remedy = text.rstrip(".").rpartition("; ")
        yield warning(CHECK, sentence, remedy)
    if len(doubts) > MOST:
        yield warning(CHECK, f"{len(doubts) - MOST} more nodes are in doubt", "`closeknit numa` lists them")


def _pauses(view: Raw) -> Iterator[Finding]:
    paused = [(one["name"], pause) for one in view.get("nodes", ()) for pause in one.get("pauses", ())]
    for name, pause in paused[:MOST]:
        text = f"the kubelet of node {name} refused a pod that should have fit ({pause['asks']})"
        wait = f"no such pod is sent there for {round(pause['seconds'])} s"
        yield problem(CHECK, f"{text}; {wait}", f"compare `closeknit numa {name}` with the node's own view")
    if len(paused) > MOST:
        yield problem(CHECK, f"{len(paused) - MOST} more pauses after refusals", "`closeknit numa` lists them")


def _summary(nodes: int, reported: int) -> str:
    if not reported:
        return "no node reports NUMA zones: pods are placed by node totals"
    rest = "" if reported == nodes else ", by node totals on the others"
    return f"{reported} of {number_of(nodes, 'node')} report NUMA zones{rest}"
