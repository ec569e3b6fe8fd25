"""One reconcile of a workload's gated pods: which are ungated, and for which domains."""

from __future__ import annotations

from collections import Counter
from typing import Any

from closeknit.dialects.kueue import objects as kueue
from closeknit.dialects.pods import SLICE_NAME, TOPOLOGY_GATE, pod
from closeknit.lifecycle.action import Action, GiveUp, Requeue, Ungate
from closeknit.lifecycle.ungate import UngateView, ungate
from closeknit.model.pod import Pod

from .case import Case, Prepared

Where = tuple[tuple[str, str], ...]


def ungating(case: Case) -> Prepared:
    raw = case["workloads"][0]
    family = (raw["metadata"].get("annotations") or {}).get(SLICE_NAME, "")
    pods = [pod(one) for one in case.get("pods") or ()]
    view = UngateView(kueue.workload(raw), pods, frozenset(case.get("expectUIDs") or ()), family)
    exact = case.get("nodeSelectorAssertMode") == "Exact"
    return Prepared(lambda: ungate(view, 0.0), lambda actions: _shown(pods, actions, exact), _wanted(case, exact))


def _shown(pods: list[Pod], actions: list[Action], exact: bool) -> Any:
    added = {one.pod.name: one.selector for one in actions if isinstance(one, Ungate)}
    gates = {one.name: [gate for gate in one.gates if one.name not in added or gate != TOPOLOGY_GATE] for one in pods}
    selectors = {one.name: _where({**one.selector, **added.get(one.name, {})}) for one in pods}
    there = Counter(selectors[one.name] for one in pods if not one.ended and TOPOLOGY_GATE not in gates[one.name])
    return {
        "error": next((one.why for one in actions if isinstance(one, Requeue | GiveUp)), None),
        "gates": gates,
        "selectors": selectors if exact else None,
        "counts": dict(there),
    }


def _wanted(case: Case, exact: bool) -> Any:
    pods = [pod(one) for one in case.get("wantPods") or ()]
    return {
        "error": case.get("wantErr") or None,
        "gates": {one.name: list(one.gates) for one in pods},
        "selectors": {one.name: _where(one.selector) for one in pods} if exact else None,
        "counts": {_where(one["NodeSelector"]): one["Count"] for one in case.get("wantCounts") or ()},
    }


def _where(selector: Any) -> Where:
    return tuple(sorted((selector or {}).items()))
