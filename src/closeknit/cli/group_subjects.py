"""Options for placing groups of pods, and placing one gang with them; shared by `place`, `explain` and `what-if`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar, cast

import click

from ..engine.groups.place import GroupResult, commit, place_groups
from ..engine.groups.remedies import GroupCase, group_remedies
from ..engine.policy import Policy
from ..engine.remedy import Remedy
from ..model.gang import Gang
from ..model.reason import Why, reason
from ..model.request import Order
from ..model.settings import SEARCH_STEPS
from ..observe.group_world import GroupWorld
from ..report.group_diagnosis import group_diagnosis, group_diagnosis_json
from ..report.group_picture import group_picture
from ..report.group_plan import GangPlan, group_plan, plan_json
from .configuration import configured

F = TypeVar("F", bound=Callable[..., Any])

OPTIONS = (
    click.option(
        "--order",
        type=click.Choice(["binpack", "spread"]),
        help="Groups of pods: which domain that fits is tried first, the fullest (the default) or the emptiest.",
    ),
    click.option(
        "--steps",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Groups of pods: how many steps the search takes before it gives up; {SEARCH_STEPS} by default.",
    ),
)


class GroupOptions(NamedTuple):
    order: Order = "binpack"
    steps: int = SEARCH_STEPS

    @classmethod
    def of(cls, order: str | None, steps: int | None, config: str | None = None) -> GroupOptions:
        """The options of the command line, else those of the file of --config."""
        settings = configured(config).settings
        return cls(cast("Order", order or settings.group_order), steps or settings.group_steps)


def group_options(command: F) -> F:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def placed_gang(world: GroupWorld, gang: Gang, policy: Policy, options: GroupOptions) -> GroupResult:
    """Where a gang would go; while pods of its minimum do not exist, it waits for them."""
    if gang.missing:
        return GroupResult(reason=reason(Why.PODS_MISSING, count=gang.missing))
    return place_groups(world.columns, world.trees, gang.request, policy, options.order, options.steps)


def gang_identity(gang: Gang) -> dict[str, str]:
    """The object that an answer is about, as data."""
    kind, _, name = gang.owner.partition(" ") if gang.owner else (gang.kind, "", gang.name)
    return {"kind": kind, "namespace": gang.namespace, "name": name.rpartition("/")[2], "file": gang.where}


def refused_gang(gang: Gang, result: GroupResult) -> dict[str, Any]:
    return {
        "fits": False,
        "reason": str(result.reason),
        "proven": result.is_proof,
        "group": gang.key,
        "dialect": gang.dialect,
        "steps": result.steps,
        "job": gang_identity(gang),
    }


def shows_where(command: str = "place") -> str:
    return f"`closeknit {command}` with the same arguments shows where"


class GroupAnswer(NamedTuple):
    """What was found for a gang; `plan` and its `picture` are there if it fits and was asked where."""

    gang: Gang
    result: GroupResult
    remedies: tuple[Remedy, ...] = ()
    plan: GangPlan | None = None
    picture: tuple[str, ...] = ()
    shower: str = "place"
    """The command that draws where it goes, given the same arguments."""

    def lines(self, wide: bool = False) -> Iterator[str]:
        if self.plan is not None:
            yield from self.picture
        elif self.result.fits:
            yield f"{self.gang.title} fits{self._left_out()}; {shows_where(self.shower)}"
        else:
            yield from group_diagnosis(self.gang, self.result, self.remedies, wide)

    def _left_out(self) -> str:
        """How many pods are placed, if some beyond the minimums are not."""
        counts = [pod_set.count for pod_set in self.gang.request.pod_sets]
        placed = sum(int(one.counts.sum()) for one in self.result.placed.values())
        return "" if placed == sum(counts) else f" with {placed} of {sum(counts)} pods"

    def data(self) -> dict[str, Any]:
        if self.plan is not None:
            return {**plan_json(self.plan), "job": gang_identity(self.gang)}
        if self.result.fits:
            return {"fits": True, "group": self.gang.key, "job": gang_identity(self.gang)}
        return {**refused_gang(self.gang, self.result), **group_diagnosis_json(self.gang, self.result, self.remedies)}


def explained_gang(
    world: GroupWorld, gang: Gang, policy: Policy, options: GroupOptions, is_drawn: bool = False, wide: bool = False
) -> GroupAnswer:
    """Why a gang does not fit and what would help; if it fits, it takes its room, and with `is_drawn` it is drawn."""
    result = placed_gang(world, gang, policy, options)
    if not result.fits:
        case = GroupCase(world.columns, world.trees, gang.request, policy, options.order, options.steps)
        return GroupAnswer(gang, result, group_remedies(case, result))
    plan = group_plan(gang, world.columns, world.trees, result) if is_drawn else None
    picture = () if plan is None else tuple(group_picture(plan, everything=wide))
    commit(world.columns, result)
    return GroupAnswer(gang, result, plan=plan, picture=picture)
