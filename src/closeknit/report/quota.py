"""Quota as a tree with bars: cohorts, the ClusterQueues in them, and what each uses of every flavor and resource.

A bar shows what is used of a queue's own quota, what is borrowed beyond it, and what is free:

    ▒▒▒▒▒▒▒▒▓▓▓▓▓▓▓▓  16 of 8 used, 8 borrowed        ▒▒▒▒▒▒░░░░░░░░░░  3 of 8 used, 2 lent

Lent is a queue's own quota that other queues of its tree use now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..decide.activity import Inactive
from ..decide.obstacles import Command, remedy_for, typed
from ..decide.scheduler import Scheduler
from ..model.cluster_queue import LocalQueue
from ..model.quantity import INT64_MAX
from ..model.quota import UNLIMITED, FlavorResource
from ..model.resources import rough
from ..model.workload import Workload
from ..quota.share import share_of
from ..quota.tree import QuotaNode
from .bars import BORROWED, FREE, USED, bar

NO_QUOTA = "no quota"


@dataclass(frozen=True, slots=True)
class Amounts:
    """The amounts of one node, flavor and resource. `nominal` is its own quota, `whole` includes its members'."""

    nominal: int
    whole: int
    used: int
    borrowed: int
    lent: int
    borrowing_limit: int | None
    lending_limit: int | None


@dataclass(slots=True)
class Headcount:
    """Numbers of workloads by queue and by LocalQueue."""

    admitted: Counter[str] = field(default_factory=Counter)
    reserving: Counter[str] = field(default_factory=Counter)
    pending: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, scheduler: Scheduler, workloads: Iterable[Workload]) -> Headcount:
        count = cls()
        for one in workloads:
            if one.finished:
                continue
            admission = one.status.admission
            if one.reserved and admission is not None:
                column = count.admitted if one.admitted else count.reserving
                column[admission.queue] += 1
                column[f"{one.local_queue} of {admission.queue}"] += 1
            else:
                local = scheduler.pending.local_queues.get(one.local_queue)
                name = "" if local is None else local.cluster_queue
                count.pending[name] += 1
                count.pending[f"{one.local_queue} of {name}"] += 1
        return count

    def text(self, name: str) -> str:
        parts = [f"{self.admitted[name]} admitted", f"{self.pending[name]} pending"]
        if self.reserving[name]:
            parts.insert(1, f"{self.reserving[name]} waiting for checks")
        return ", ".join(parts)

    def data(self, name: str) -> dict[str, int]:
        return {
            "pending": self.pending[name],
            "reserving": self.reserving[name] + self.admitted[name],
            "admitted": self.admitted[name],
        }


@dataclass(frozen=True, slots=True)
class QuotaReport:
    """The input of the report."""

    scheduler: Scheduler
    count: Headcount
    local_queues: Mapping[str, list[LocalQueue]]
    command: Command = typed

    @classmethod
    def of(cls, scheduler: Scheduler, workloads: Iterable[Workload], command: Command = typed) -> QuotaReport:
        local_queues: dict[str, list[LocalQueue]] = {}
        for local in scheduler.pending.local_queues.values():
            local_queues.setdefault(local.cluster_queue, []).append(local)
        return cls(scheduler, Headcount.of(scheduler, workloads), local_queues, command)

    def tops(self, name: str = "") -> list[QuotaNode]:
        """The top nodes to show: all roots, or the named node. Cohorts first, each kind by name."""
        roots = sorted(self.scheduler.world.tree.roots(), key=_order)
        return [one for root in roots for one in root.within() if one.name == name] if name else roots


def names(ledger: QuotaReport) -> list[str]:
    """The names of all cohorts and queues."""
    return [one.name for root in ledger.tops() for one in root.within()]


def amounts(node: QuotaNode) -> dict[FlavorResource, Amounts]:
    """The amounts of every flavor and resource that a node has quota for or uses."""
    found = {}
    for fr in dict.fromkeys((*node.quotas, *node.subtree, *node.usage)):
        own, whole, used = node.quotas.get(fr), node.subtree.get(fr, 0), node.usage.get(fr, 0)
        borrowed = max(0, used - whole) if node.parent is not None else 0
        lent = max(0, whole - used - max(0, node.available(fr))) if node.parent is not None else 0
        limits = (None, None) if own is None else (own.borrowing, own.lending)
        found[fr] = Amounts(0 if own is None else own.nominal, whole, used, borrowed, lent, *limits)
    return found


def _order(node: QuotaNode) -> tuple[bool, str]:
    return node.is_queue, node.name


# Text


def tree(ledger: QuotaReport, wide: bool = False, name: str = "") -> Iterator[str]:
    """The lines of the whole tree, or of the subtree of a name."""
    rows = [row for top in ledger.tops(name) for row in _rows(ledger, top, wide)]
    width = max((len(left) for left, right in rows if right), default=0)
    for left, right in rows:
        yield f"{left:<{width}}  {right}".rstrip() if right else left
    lost = ledger.count.pending[""]
    if lost and not name:
        yield f"{lost} workload{'' if lost == 1 else 's'} without an existing LocalQueue"


Row = tuple[str, str]
"""The left column and the rest; a row without a rest does not affect the width of the column."""


def _rows(ledger: QuotaReport, top: QuotaNode, wide: bool) -> Iterator[Row]:
    """The rows of a node and all nodes below it; each child is drawn with its branch and the indent of what follows."""
    left = [(top, "", "")]
    while left:
        node, branch, indent = left.pop()
        yield from _node(ledger, node, branch, indent, wide)
        children = sorted(node.children, key=_order, reverse=True)
        for child in children:
            last = child is children[0]
            left.append((child, f"{indent}{'└─ ' if last else '├─ '}", indent + ("   " if last else "│  ")))


def _node(ledger: QuotaReport, node: QuotaNode, branch: str, indent: str, wide: bool) -> Iterator[Row]:
    kind = "ClusterQueue" if node.is_queue else "Cohort"
    yield f"{branch}{kind} {node.name}", _facts(ledger, node)
    bare = f"{indent}{'│' if node.children else ' '}  "
    if node.is_queue:
        why = ledger.scheduler.world.inactive(node.name)
        if why is not None:
            remedy = remedy_for(node.name, why, ledger.command)
            yield f"{bare}{why.reason}: {why.message.removesuffix('.')}. Would help: {remedy}", ""
    yield from _quotas(node, bare)
    if node.is_queue and wide:
        yield from _local_queues(ledger, node.name, bare)


def _facts(ledger: QuotaReport, node: QuotaNode) -> str:
    parts = [ledger.count.text(node.name)] if node.is_queue else []
    if node.parent is not None:
        parts.append(f"share {_share(node)}" + ("" if node.weight == 1 else f" (weight {node.weight:g})"))
    if node.is_queue:
        active = ledger.scheduler.world.is_active(node.name)
        parts.append("active" if active else "inactive")
    return ", ".join(parts)


def _share(node: QuotaNode) -> str:
    share = share_of(node).rounded
    return "∞" if share == INT64_MAX else str(share)


def _quotas(node: QuotaNode, indent: str) -> Iterator[Row]:
    found = amounts(node)
    flavor = ""
    width = max((len(fr.flavor) for fr in found), default=0)
    for fr, one in found.items():
        shown = fr.flavor if fr.flavor != flavor else ""
        flavor = fr.flavor
        yield f"{indent}{shown:<{width}}  {fr.resource}", f"{_bar(one)}  {_numbers(fr.resource, one)}"


def _bar(one: Amounts) -> str:
    if one.whole == UNLIMITED:
        return bar([(FREE, 1)])
    own, borrowed = min(one.used, one.whole), max(0, one.used - one.whole)
    return bar([(USED, own), (BORROWED, borrowed), (FREE, one.whole - one.used)])


def _numbers(resource: str, one: Amounts) -> str:
    def amount(value: int) -> str:
        return "unlimited" if value == UNLIMITED else rough(resource, value)

    text = f"{amount(one.used):>6} of {amount(one.whole)} used" if one.whole or one.used else f"{NO_QUOTA:>6}"
    if one.borrowed:
        text += f", {amount(one.borrowed)} borrowed"
    if one.lent:
        text += f", {amount(one.lent)} lent"
    limits = [("borrows", one.borrowing_limit), ("lends", one.lending_limit)]
    for what, limit in limits:
        text += "" if limit is None else f", {what} at most {amount(limit)}"
    return text


def _local_queues(ledger: QuotaReport, queue: str, indent: str) -> Iterator[Row]:
    for local in ledger.local_queues.get(queue, ()):
        stopped = "" if local.stop == "None" else f", stopped ({local.stop})"
        yield f"{indent}LocalQueue {local.key}", ledger.count.text(f"{local.key} of {queue}") + stopped


# Data


def as_data(ledger: QuotaReport, name: str = "") -> dict[str, Any]:
    return {
        "cohorts": [_data(ledger, node) for node in ledger.tops(name) if not node.is_queue],
        "clusterQueues": [_data(ledger, node) for node in ledger.tops(name) if node.is_queue],
    }


def _data(ledger: QuotaReport, top: QuotaNode) -> dict[str, Any]:
    """A node with everything below it, children first."""
    found: dict[QuotaNode, dict[str, Any]] = {}
    for node in reversed(list(top.within())):
        value = found[node] = _node_data(ledger, node)
        if not node.is_queue:
            children = sorted(node.children, key=_order)
            value["cohorts"] = [found.pop(child) for child in children if not child.is_queue]
            value["clusterQueues"] = [found.pop(child) for child in children if child.is_queue]
    return found[top]


def _node_data(ledger: QuotaReport, node: QuotaNode) -> dict[str, Any]:
    share = share_of(node)
    value: dict[str, Any] = {
        "name": node.name,
        "weight": node.weight,
        "weightedShare": share.rounded,
        "quota": [_quota(fr, one) for fr, one in amounts(node).items()],
    }
    return {**value, **_queue(ledger, node.name)} if node.is_queue else value


def _inactive(ledger: QuotaReport, name: str, why: Inactive) -> dict[str, Any]:
    return {"reason": why.reason, "message": why.message, "remedy": remedy_for(name, why, ledger.command)}


def _queue(ledger: QuotaReport, name: str) -> dict[str, Any]:
    scheduler, count = ledger.scheduler, ledger.count
    why = scheduler.world.inactive(name)
    return {
        "active": why is None,
        **({} if why is None else _inactive(ledger, name, why)),
        "strategy": scheduler.world.cluster_queues[name].strategy,
        "workloads": count.data(name),
        "localQueues": [
            {
                "namespace": local.namespace,
                "name": local.name,
                "stopPolicy": local.stop,
                "workloads": count.data(f"{local.key} of {name}"),
            }
            for local in ledger.local_queues.get(name, ())
        ],
    }


def _quota(fr: FlavorResource, one: Amounts) -> dict[str, Any]:
    return {
        "flavor": fr.flavor,
        "resource": fr.resource,
        "nominal": one.nominal,
        "total": one.whole,
        "used": one.used,
        "borrowed": one.borrowed,
        "lent": one.lent,
        "borrowingLimit": one.borrowing_limit,
        "lendingLimit": one.lending_limit,
    }
