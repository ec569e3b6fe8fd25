"""Quota arithmetic, and the search for victims alone."""

from __future__ import annotations

import json
from typing import Any

from closeknit.decide.fair_victims import fair
from closeknit.decide.topology import RoomTest
from closeknit.decide.victims import Victim, VictimSearch, classical
from closeknit.dialects.kueue import objects as kueue
from closeknit.model.quota import FlavorResource
from closeknit.model.settings import FAIR, Settings
from closeknit.queue.pending_workload import pending_workload
from closeknit.quota.share import share_of
from closeknit.quota.tree import QuotaNode, QuotaTree

from .case import Case, Prepared
from .cluster import scheduler


def available(case: Case) -> Prepared:
    tree = _tree(case["clusterQueues"], case)
    for queue, usage in (case.get("usage") or {}).items():
        tree.add(queue, _amounts(usage))

    def decide() -> Any:
        return {
            "available": _each(tree, case["wantAvailable"], lambda node, fr: max(0, node.available(fr))),
            "potential": _each(tree, case["wantPotentiallyAvailable"], lambda node, fr: node.potentially_available(fr)),
        }

    want = {
        "available": _plain(case["wantAvailable"]),
        "potential": _plain(case["wantPotentiallyAvailable"]),
    }
    return Prepared(decide, lambda answer: answer, want)


def dominant_share(case: Case) -> Prepared:
    queues = [case["clusterQueue"], *([case["lendingClusterQueue"]] if case.get("lendingClusterQueue") else [])]
    tree = _tree(queues, case)
    name = case["clusterQueue"]["metadata"]["name"]
    tree.add(name, _amounts(case["usage"]))
    more = _amounts(case.get("flvResQ") or {})

    def decide() -> list[Any]:
        mark = tree.checkpoint()
        tree.add(name, more)
        nodes: list[QuotaNode] = [*tree.queues.values(), *tree.cohorts.values()]
        shares = [(node, share_of(node)) for node in nodes]
        tree.rollback(mark)
        return sorted(
            [node.name, not node.is_queue, share.rounded, share.resource, share.borrowing] for node, share in shares
        )

    want = sorted(
        [
            one.get("Name") or "",
            bool(one.get("NodeType")),
            one.get("DrValue") or 0,
            one.get("DrName") or "",
            bool(one.get("Borrowing")),
        ]
        for one in case["want"]
    )
    return Prepared(decide, lambda answer: answer, want)


def _tree(queues: list[Any], case: Case) -> QuotaTree:
    cohorts = [kueue.cohort(raw) for raw in case.get("cohorts") or ()]
    return QuotaTree([kueue.cluster_queue(raw) for raw in queues], cohorts)


def _amounts(raw: dict[str, Any]) -> dict[FlavorResource, int]:
    return {_key(text): value["value"] if isinstance(value, dict) else value for text, value in raw.items()}


def _key(text: str) -> FlavorResource:
    pair = json.loads(text)
    return FlavorResource(pair["Flavor"], pair["Resource"])


def _plain(raw: dict[str, Any]) -> dict[str, dict[str, int]]:
    return {name: {str(fr): value for fr, value in _amounts(usage or {}).items()} for name, usage in raw.items()}


def _each(tree: QuotaTree, wanted: dict[str, Any], ask: Any) -> dict[str, dict[str, int]]:
    nodes = {**tree.cohorts, **tree.queues}
    return {
        name: {str(_key(text)): ask(nodes[name], _key(text)) for text in usage or {}} for name, usage in wanted.items()
    }


def preemption(case: Case) -> Prepared:
    """Classical victims, with the reasons of their preemption."""
    wanted = {}
    for raw in case["wantWorkloads"]:
        for one in (raw.get("status") or {}).get("conditions") or ():
            if one["type"] == "Preempted" and one["status"] == "True":
                wanted[_name(raw)] = one["reason"]
    want = {"count": case.get("wantPreempted") or 0, "victims": wanted}
    return Prepared(lambda: classical(_search(case)), lambda found: _shown(found), want)


def fair_preemption(case: Case) -> Prepared:
    wanted = dict.fromkeys(case.get("wantPreempted") or {}, True)
    return Prepared(
        lambda: fair(_search(case)),
        lambda found: {f"{one.holding.key}:{one.cause.value}": True for one in found},
        wanted,
    )


def _shown(found: list[Victim]) -> Any:
    new = {one.holding.key: one.cause.value for one in found if not one.holding.workload.evicted}
    return {"count": len(found), "victims": new}


def _name(raw: dict[str, Any]) -> str:
    return f"{raw['metadata'].get('namespace') or ''}/{raw['metadata']['name']}"


def _search(case: Case) -> VictimSearch:
    from dataclasses import replace

    flavors = [*(case.get("flavors") or ()), *(case.get("baseFlavors") or ())]
    built = scheduler({**case, "resourceFlavors": flavors, "now": None})
    is_fair = "assignment" not in case
    if is_fair:
        strategies = tuple(case.get("strategies") or FAIR)
        built.world.settings = Settings(strategies)
    for raw in case.get("admitted") or ():
        one = kueue.workload(raw)
        built.world.confirm(replace(one, uid=one.name) if is_fair else one)
    incoming = pending_workload(
        kueue.workload(case["incoming"]), case["targetCQ"], built.world.settings, built.world.gates
    )
    requests: dict[FlavorResource, int] = {}
    contested = set()
    if is_fair:
        fr = FlavorResource(case.get("assignmentFlavor") or "default", "cpu")
        requests[fr] = sum(one.total.get("cpu", 0) for one in incoming.demands)
        contested.add(fr)
    else:
        for one, demand in zip(case["assignment"]["PodSets"], incoming.demands, strict=True):
            for resource, choice in (one.get("Flavors") or {}).items():
                fr = FlavorResource(choice["Name"], resource)
                requests[fr] = requests.get(fr, 0) + demand.total.get(resource, 0)
                if choice.get("Mode") == 1:
                    contested.add(fr)
    node = built.world.node_of(case["targetCQ"])
    queue = built.world.cluster_queues[case["targetCQ"]]
    return VictimSearch(built.world, incoming, queue, node, requests, frozenset(contested), RoomTest(built.world, {}))
