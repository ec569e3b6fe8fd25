"""Victims that free one domain: ours, behind the gate VictimsByDomain.

Taken in list order, victims may lie all over the place, and many have to go before one rack is free. Here every domain
of the level that the job asks for is tried by itself: who of the candidates lies in it, and the cheapest of them first,
by pods lost for pods gained. The set that costs least is chosen, by pods and then by work lost; the set in list order
is among those compared, so this is never dearer. Who may be preempted at all stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..state.ledger import Holding
from .topology import Ask
from .victims import Candidate, Search, Victim, attempts, candidates_of, needed, run, spared


@dataclass(frozen=True, slots=True, order=True)
class Cost:
    """What goes with a set of victims; those on their way out already cost nothing more."""

    pods: int
    work: float
    victims: int


def by_domain(search: Search, wanted: list[Ask]) -> list[Victim]:
    """The cheapest victims that free a domain, or those in list order if no domain comes cheaper."""
    candidates = candidates_of(search)
    if not candidates:
        return []
    for borrow in attempts(search, candidates):
        sets = [run(search, candidates, borrow)]
        for domain in _domains(search, wanted):
            in_front = _in_domain(search, candidates, wanted[0].flavor, domain)
            if in_front:
                sets.append(_freed(search, in_front, candidates, borrow))
        found = [one for one in sets if one]
        if found:
            chosen = min(found, key=lambda victims: cost(search, victims))
            _settle(search, chosen)
            return chosen
    return []


def cost(search: Search, victims: list[Victim]) -> Cost:
    fresh = [victim.holding for victim in victims if not victim.holding.workload.evicted]
    pods = [sum(place.assignment.pods for place in holding.places) for holding in fresh]
    work = sum(count * max(0.0, search.world.now - _since(one)) for count, one in zip(pods, fresh, strict=True))
    return Cost(sum(pods), work, len(fresh))


def _since(holding: Holding) -> float:
    reserved = holding.workload.status.conditions.get("QuotaReserved")
    return reserved.since if reserved is not None and reserved.holds else holding.since


def _domains(search: Search, wanted: list[Ask]) -> list[tuple[int, int]]:
    """The leaf ranges of the domains that the first constrained pod set could go to."""
    for ask in wanted:
        constraint, snapshot = ask.pod_set.constraint, search.world.snapshot(ask.flavor)
        key = None if constraint is None else constraint.required or constraint.preferred
        level = None if key is None or snapshot is None else snapshot.topology.level(key)
        if level is not None and snapshot is not None:
            count = len(snapshot.tree.first[level]) - 1 if level < snapshot.topology.lowest else snapshot.tree.leaves
            return [snapshot.tree.leaf_range(level, domain) for domain in range(count)]
    return []


def _in_domain(
    search: Search, candidates: list[Candidate], flavor: str, domain: tuple[int, int]
) -> list[tuple[float, int, Candidate]]:
    """Candidates with pods in the domain: what each costs per pod there, and its place in the list."""
    low, high = domain
    found = []
    for number, one in enumerate(candidates):
        inside = 0
        for at, place in enumerate(one.holding.places):
            if place.flavor == flavor:
                leaves, counts = search.world.leaves_of(one.holding, at)
                inside += int(counts[(leaves >= low) & (leaves < high)].sum())
        if inside:
            total = sum(place.assignment.pods for place in one.holding.places)
            found.append((0.0 if one.holding.workload.evicted else total / inside, number, one))
    return sorted(found, key=lambda each: each[:2])


def _freed(
    search: Search, in_front: list[tuple[float, int, Candidate]], candidates: list[Candidate], borrow: bool
) -> list[Victim]:
    """Take candidates of the domain, cheapest first, then the others, until it fits; then spare who can stay."""
    first = [one for _, _, one in in_front]
    keys = {one.holding.key for one in first}
    ordered = first + [one for one in candidates if one.holding.key not in keys]
    search.counts_quota = True
    mark = search.world.checkpoint()
    taken: list[Candidate] = []
    try:
        for one in ordered:
            if len(taken) >= len(first) and not search.short:
                return []
            if one.top is not None and ((borrow and one.only_without_borrowing) or spared(search, one)):
                continue
            search.take_away(one.holding)
            taken.append(one)
            if search.fits(borrow):
                dearest_last = sorted(taken, key=lambda each: sum(p.assignment.pods for p in each.holding.places))
                kept = needed(search, [each.holding for each in dearest_last], borrow)
                return [Victim(each.holding, each.cause) for each in taken if each.holding.key in kept]
    finally:
        search.world.rollback(mark)
    return []


def _settle(search: Search, chosen: list[Victim]) -> None:
    """Let the caller see the world without the chosen."""
    mark = search.world.checkpoint()
    for victim in chosen:
        search.world.take_away(victim.holding)
    search.when_found()
    search.world.rollback(mark)
