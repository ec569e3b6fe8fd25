"""Quota as administrators write it: per flavor and resource the nominal quota and the borrowing and lending limits.

Amounts are int64 as everywhere: cpu in milli-units, the rest in whole units. An amount at the end of int64 is
unlimited, and stays so whatever is added to it or taken from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .quantity import INT64_MAX, INT64_MIN, saturate

UNLIMITED = INT64_MAX


class FlavorResource(NamedTuple):
    """A resource of one flavor: the unit that quota counts."""

    flavor: str
    resource: str


Usage = Mapping[FlavorResource, int]


class Quota(NamedTuple):
    """`borrowing` None: no limit; `lending` None: everything may be lent."""

    nominal: int
    borrowing: int | None = None
    lending: int | None = None


@dataclass(frozen=True, slots=True)
class FlavorQuotas:
    flavor: str
    resources: Mapping[str, Quota]


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that always come from the same flavor; flavors are tried in order."""

    covered: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


def quotas(groups: tuple[ResourceGroup, ...]) -> Iterator[tuple[FlavorResource, Quota]]:
    """Every quota of these groups, in order."""
    for group in groups:
        for flavor in group.flavors:
            for resource, quota in flavor.resources.items():
                yield FlavorResource(flavor.flavor, resource), quota


@dataclass(frozen=True, slots=True)
class Cohort:
    """Queues and cohorts that lend to each other; the cohort's own quota is added to theirs."""

    name: str
    parent: str = ""
    groups: tuple[ResourceGroup, ...] = field(default=())
    weight: float = 1.0


def plus(left: int, right: int) -> int:
    """plus(UNLIMITED, -5) == UNLIMITED."""
    if left == UNLIMITED or right == UNLIMITED:
        return UNLIMITED
    return saturate(left + right)


def minus(left: int, right: int) -> int:
    """minus(UNLIMITED, 5) == UNLIMITED, minus(UNLIMITED, UNLIMITED) == 0, minus(5, UNLIMITED) == INT64_MIN."""
    if right == UNLIMITED:
        return 0 if left == UNLIMITED else INT64_MIN
    return UNLIMITED if left == UNLIMITED else saturate(left - right)
