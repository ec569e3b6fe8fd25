"""The state of one workload: why it is pending and what would help, or where it is and why there.

To explain a placement it is computed again: the workload's places are freed temporarily, every level is counted, and
the same request is placed once more. The result may differ from the original decision by now; the report says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..decide.obstacles import Command, Obstacle, typed
from ..decide.prospects import Prospects
from ..decide.topology import pod_set_in
from ..decide.world import World
from ..engine.explain import LevelView, level_views
from ..engine.place import PodSetOutcome, Result, place
from ..lifecycle.starting import Unstarted
from ..model.encoding import encode
from ..model.maintenance import Maintenance
from ..model.name import Name
from ..model.number import number_of
from ..model.reason import waits_for
from ..model.request import PodSet, Request
from ..model.workload import PodSetAssignment, Workload
from .diagnosis import details, diagnosis_json, level_lines, levels_json, remedies_json, remedy_lines
from .lines import date, span
from .node_trouble import NodeFailureRules, Trouble, trouble_data, trouble_lines, troubles
from .plan import JobPlan, picture, plan
from .what_if import where

NO_PROSPECTS = Prospects()


@dataclass(frozen=True, slots=True)
class FlavorPlacement:
    """The pod sets of a workload in one flavor; `stays` means that placing them again gives the same result."""

    flavor: str
    plan: JobPlan
    levels: tuple[tuple[PodSet, tuple[LevelView, ...]], ...]
    stays: bool
    elsewhere: str


@dataclass(frozen=True, slots=True)
class Standing:
    """Either `places` is where it runs, or `obstacle` is why it is pending; `now` is the time of the report.

    `past` is how it lost its previous place, if it is pending again. `unstarted` are pods of an admitted workload that
    should run by now, and `windows` what maintenance does to it.
    """

    name: Name
    workload: Workload
    queue: str
    where: str = ""
    places: tuple[FlavorPlacement, ...] = ()
    obstacle: Obstacle | None = None
    prospects: Prospects = NO_PROSPECTS
    troubles: tuple[Trouble, ...] = ()
    unstarted: Unstarted | None = None
    now: float = 0.0
    past: str = ""
    windows: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        if self.workload.finished:
            return "Finished"
        if self.obstacle is None:
            return "Admitted"
        return "QuotaReserved" if self.workload.reserved else "Waiting"


def finished(world: World, one: Workload, name: Name, now: float) -> Standing:
    """The state of a finished workload; its admission shows where it ran."""
    admission = one.status.admission
    queue = "" if admission is None else admission.queue
    return Standing(name, one, queue, "" if admission is None else where(world, one), now=now)


def placed(world: World, one: Workload, name: Name, now: float, pods_on: Mapping[str, int] | None = None) -> Standing:
    """The state of an admitted workload; `pods_on` counts its pods by node if it has no topology assignment."""
    admission = one.status.admission
    assert admission is not None
    holding = world.ledger.get(one.key)
    flavors: dict[str, list[tuple[PodSet, PodSetAssignment]]] = {}
    for given in admission.pod_sets:
        pod_set = one.pod_set(given.name)
        flavor = next((name for name in given.flavors.values() if name in world.views), None)
        if given.topology is not None and pod_set is not None and flavor is not None:
            asked = pod_set_in(world, one, pod_set, given.count, flavor)
            flavors.setdefault(flavor, []).append((asked, given))
    mark = world.checkpoint()
    try:
        if holding is not None:
            world.take_away(holding)
        tried = (_place(world, one.request, flavor, sets) for flavor, sets in flavors.items())
        places = tuple(found for found in tried if found is not None)
    finally:
        world.rollback(mark)
    failing = tuple(troubles(one, world.nodes.values(), NodeFailureRules(world.gates, world.flavors), pods_on))
    windows = tuple(_reached(window, now) for window in world.reached_by(one, now))
    return Standing(name, one, admission.queue, where(world, one), places, troubles=failing, now=now, windows=windows)


def _reached(window: Maintenance, now: float) -> str:
    """What a maintenance window does to a workload that runs on its nodes."""
    if not window.drain:
        what = "it keeps running there, because the maintenance does not drain"
    else:
        what = "it is being evicted" if window.is_active(now) else "it is evicted and requeued when that begins"
    return f"{window.taint.cause} includes nodes that it uses: {what}"


def _place(
    world: World, whole: Request, flavor: str, sets: Sequence[tuple[PodSet, PodSetAssignment]]
) -> FlavorPlacement | None:
    """The placement in one flavor; None if one of its nodes no longer exists, so that it cannot be compared."""
    snapshot, policy = world.snapshot(flavor), world.policy
    assert snapshot is not None
    outcomes = [PodSetOutcome(asked, given.topology) for asked, given in sets]
    paths = (path for one in outcomes if one.assignment is not None for path in one.assignment.values)
    if any(path not in snapshot.tree.leaf_of for path in paths):
        return None
    made = plan(snapshot, "", Result(tuple(outcomes)), policy)
    request = whole.keeping({asked.name: asked for asked, _ in sets})
    levels = tuple(
        (max(group.pod_sets, key=lambda one: one.count), level_views(snapshot, group, policy))
        for group in request.groups
    )
    again = place(snapshot, request, policy)
    now = {one.pod_set.name: one.assignment for one in again.outcomes}
    stays = all(now.get(one.pod_set.name) == one.assignment for one in outcomes)
    return FlavorPlacement(flavor, made, levels, stays, "" if stays else _elsewhere(again))


def _elsewhere(again: Result) -> str:
    """Where it would go now, in short."""
    if not again.fits:
        return f"it would find no place: {again.reason}"
    names = [
        "/".join(path) for one in again.outcomes if one.assignment is not None for path in one.assignment.values[:3]
    ]
    total = sum(len(one.assignment.values) for one in again.outcomes if one.assignment is not None)
    return f"it would go to {', '.join(names[:3])}" + (f" and {total - 3} more" if total > 3 else "")


# Text


def lines(standing: Standing, wide: bool = False, command: Command = typed) -> Iterator[str]:
    one, obstacle = standing.workload, standing.obstacle
    line = f"LocalQueue {one.local_queue}" + (f" of ClusterQueue {standing.queue}" if standing.queue else "")
    if one.finished:
        yield from _finished_lines(standing)
        return
    if obstacle is None:
        if standing.unstarted is not None:
            late = span(standing.now - standing.unstarted.since)
            yield f"{standing.name} is admitted and cannot start, for {late} now: {standing.unstarted}"
        yield f"{standing.name} is admitted in {line}: {standing.where}"
        yield from (f"  {each}" for each in trouble_lines(standing.troubles, standing.now))
        yield from (f"  {each}" for each in standing.windows)
        for found in standing.places:
            yield from _place_lines(found, wide)
        return
    state = "holds its quota in" if one.reserved else "waits in"
    if obstacle.reason == "NotSubmitted":
        state = "would go to"
    yield f"{standing.name} {state} {line}: {waits_for(obstacle.reason, obstacle.cause or obstacle.message)}"
    if standing.past:
        yield f"  {standing.past}"
    if obstacle.message:
        like = f": {obstacle.like}: {obstacle.cause}" if obstacle.like else ""
        yield f"  {obstacle.message}{like}"
    yield from _prospect_lines(standing.prospects, command)
    if obstacle.remedy and not standing.prospects.remedies:
        yield f"  would help: {obstacle.remedy}"


def _finished_lines(standing: Standing) -> Iterator[str]:
    """When and how it ended, where it ran, and for how long."""
    conditions = standing.workload.status.conditions
    ended, began = conditions["Finished"], conditions.get("Admitted")
    yield f"{standing.name} finished at {date(ended.since)}: {ended.reason}"
    if ended.message:
        yield f"  {ended.message}"
    if standing.queue:
        ran = f" for {span(ended.since - began.since)}" if began is not None and began.holds else ""
        yield f"  it was admitted in ClusterQueue {standing.queue}{ran}: {standing.where}"


def _prospect_lines(found: Prospects, command: Command) -> Iterator[str]:
    """How pods were counted, what is short, what waiting cannot change, and what would help."""
    if found.numbers:
        yield f"  ({found.numbers})"
    if found.least:
        yield f"  {found.least}"
    for gap in found.gaps:
        yield f"  quota: {gap.amount(gap.need)} {gap.what} requested, {gap.amount(gap.left)} free now"
    for why in found.rooms:
        yield from details(why)
    if found.never:
        yield "  it can never be admitted unless something changes:"
        yield from (f"    - {fact}" for fact in found.never)
    if found.is_reserved and not found.never:
        yield "  it cannot start before a maintenance of nodes that it needs is over, even if other jobs finish"
    if (found.gaps or found.rooms) and found.may_wait:
        yield "  it starts once enough other jobs finish"
    if found.preemption:
        yield f"  preemption: {found.preemption}"
    yield from remedy_lines(found.remedies, command)


def _place_lines(found: FlavorPlacement, wide: bool) -> Iterator[str]:
    yield from (f"  {line.removeprefix(' · ')}" for line in picture(found.plan, everything=wide))
    for asked, views in found.levels:
        if views:
            pods = f"{number_of(asked.count, 'pod')} of {asked.name}"
            yield f"  why there: what each level can hold without this job, for {pods}"
            yield from (f"    {line}" for line in level_lines(views))
    if found.stays:
        tightest = all(asked.constraint is not None and asked.constraint.required for asked, _ in found.levels)
        why = ": it is in the tightest domain that holds it" if tightest else ""
        yield f"  placed again now, it would get the same place{why}"
    else:
        yield f"  placed again now, {found.elsewhere}; the cluster has changed since"


# Data


def as_data(standing: Standing) -> dict[str, Any]:
    one, obstacle = standing.workload, standing.obstacle
    value: dict[str, Any] = {
        "workload": one.key,
        "job": {"kind": standing.name.kind, "namespace": standing.name.namespace, "name": standing.name.name},
        "state": standing.state,
        "localQueue": one.local_queue,
        "clusterQueue": standing.queue or None,
    }
    if one.finished:
        ended = one.status.conditions["Finished"]
        value |= {"reason": ended.reason, "message": ended.message, "finishedAt": date(ended.since)}
    if obstacle is not None:
        value |= {"reason": obstacle.reason, "message": obstacle.message, "remedy": obstacle.remedy}
        value["past"] = standing.past
        return value | _prospects(standing.prospects)
    if standing.unstarted is not None:
        found = standing.unstarted
        value["unstarted"] = {"pods": found.pods, "of": found.of, "pod": found.first, "message": found.why}
        value["unstarted"]["since"] = date(found.since)
    value["podSets"] = [_pod_set(given) for given in (one.status.admission.pod_sets if one.status.admission else ())]
    value["nodes"] = trouble_data(standing.troubles)
    value["maintenance"] = list(standing.windows)
    value["places"] = [
        {
            "flavor": found.flavor,
            "levels": [{"podSet": asked.name, "levels": levels_json(views)} for asked, views in found.levels],
            "stays": found.stays,
        }
        for found in standing.places
    ]
    return value


def _prospects(found: Prospects) -> dict[str, Any]:
    quota = [
        {"flavor": gap.of.flavor, "resource": gap.of.resource, "asked": gap.need, "free": gap.left, "most": gap.most}
        for gap in found.gaps
    ]
    return {
        "quota": quota,
        "never": list(found.never),
        "least": found.least,
        "preemption": found.preemption,
        "explanations": [diagnosis_json(why) for why in found.rooms],
        "remedies": remedies_json(found.remedies),
    }


def _pod_set(given: PodSetAssignment) -> dict[str, Any]:
    topology = given.topology
    return {
        "name": given.name,
        "count": given.count,
        "flavors": dict(given.flavors),
        "assignment": None if topology is None else encode(topology),
        "domains": [] if topology is None else [{"path": list(path), "pods": pods} for path, pods in topology.domains],
    }
