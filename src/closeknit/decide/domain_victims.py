"""Victims that free one domain (our gate VictimsByDomain).

Victims in list order may be spread over the whole cluster, and many are evicted before one rack is free. Here every
domain of the requested level is tried separately, taking the candidates in it cheapest first, by pods lost per pod
gained. The cheapest set wins, by pods and then by work lost; the set in list order is compared too, so the result is
never more expensive. The rules for what may be preempted do not change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ..state.ledger import Holding
from ..state.table import IntArray
from .topology import Wanted
from .victims import Candidate, Victim, VictimSearch, attempts, candidates_of, run, spared


@dataclass(frozen=True, slots=True, order=True)
class Cost:
    """What a set of victims costs; victims that are already being evicted cost nothing."""

    pods: int
    work: float
    victims: int


def by_domain(search: VictimSearch, wanted: Wanted) -> list[Victim]:
    """The cheapest victims that free a domain, or those in list order if no domain is cheaper."""
    candidates = candidates_of(search)
    if not candidates:
        return []
    inside = _by_domain(search, candidates, wanted)
    for borrow in attempts(search, candidates):
        sets = [run(search, candidates, borrow), *(_freed(search, found, candidates, borrow) for found in inside)]
        found = [one for one in sets if one]
        if found:
            chosen = min(found, key=lambda victims: cost(search, victims))
            _settle(search, chosen)
            return chosen
    return []


def cost(search: VictimSearch, victims: list[Victim]) -> Cost:
    fresh = [victim.holding for victim in victims if not victim.holding.workload.evicted]
    pods = [pods_of(holding) for holding in fresh]
    work = sum(count * max(0.0, search.world.now - _since(one)) for count, one in zip(pods, fresh, strict=True))
    return Cost(sum(pods), work, len(fresh))


def pods_of(holding: Holding) -> int:
    admission = holding.workload.status.admission
    return 0 if admission is None else sum(one.count for one in admission.pod_sets)


def _since(holding: Holding) -> float:
    reserved = holding.workload.status.conditions.get("QuotaReserved")
    return reserved.since if reserved is not None and reserved.holds else holding.since


def _by_domain(search: VictimSearch, candidates: list[Candidate], wanted: Wanted) -> list[list[Candidate]]:
    """For each domain at the level of the outermost constraint: the candidates with pods in it, cheapest first."""
    asked = (
        (flavor, one) for flavor, request in wanted.items() for _, constraints in request.walk() for one in constraints
    )
    for flavor, constraint in asked:
        key, snapshot = constraint.required or constraint.preferred, search.world.snapshot(flavor)
        level = None if key is None or snapshot is None else snapshot.topology.level(key)
        if level is not None and snapshot is not None:
            return _grouped(search, candidates, flavor, partial(snapshot.tree.ancestors, level=level))
    return []


def _grouped(
    search: VictimSearch, candidates: list[Candidate], flavor: str, domains_of: Callable[[IntArray], IntArray]
) -> list[list[Candidate]]:
    """Candidates by domain; the cost of a candidate is all its pods divided by its pods in the domain."""
    found: dict[int, list[tuple[float, int]]] = {}
    for number, one in enumerate(candidates):
        inside: Counter[int] = Counter()
        for leaves, counts in search.world.leaves_in(one.holding, flavor):
            for domain, count in zip(domains_of(leaves).tolist(), counts.tolist(), strict=True):
                inside[domain] += count
        for domain, count in inside.items():
            price = 0.0 if one.holding.workload.evicted else pods_of(one.holding) / count
            found.setdefault(domain, []).append((price, number))
    return [[candidates[number] for _, number in sorted(listed)] for _, listed in sorted(found.items())]


def _freed(search: VictimSearch, first: list[Candidate], candidates: list[Candidate], borrow: bool) -> list[Victim]:
    """Take candidates of the domain, then others if quota is short, until it fits; then drop unneeded victims."""
    keys = {one.holding.key for one in first}
    ordered = first + [one for one in candidates if search.short and one.holding.key not in keys]
    search.counts_quota = True
    mark = search.world.checkpoint()
    taken: list[Candidate] = []
    try:
        for one in ordered:
            if one.top is not None and ((borrow and one.only_without_borrowing) or spared(search, one)):
                continue
            search.take_away(one.holding)
            taken.append(one)
            if search.fits(borrow):
                kept = _needed(search, taken, borrow)
                return [Victim(each.holding, each.cause) for each in taken if each.holding.key in kept]
    finally:
        search.world.rollback(mark)
    return []


def _needed(search: VictimSearch, taken: list[Candidate], borrow: bool) -> set[str]:
    """The victims that are really needed; the most expensive is spared first if possible."""
    keys = {one.holding.key for one in taken}
    for one in sorted(taken, key=lambda each: -pods_of(each.holding)):
        search.put_back(one.holding)
        if search.fits(borrow):
            keys.discard(one.holding.key)
        else:
            search.take_away(one.holding)
    return keys


def _settle(search: VictimSearch, chosen: list[Victim]) -> None:
    """Run `when_found` with the chosen victims gone."""
    mark = search.world.checkpoint()
    for victim in chosen:
        search.world.take_away(victim.holding)
    search.when_found()
    search.world.rollback(mark)
