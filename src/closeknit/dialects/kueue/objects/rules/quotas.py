"""The rules of `resourceGroups`, for ClusterQueues and for Cohorts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....field import Field, shown
from .values import check_given, check_quantity, check_reference, check_repeats

MAX_IN_ALL = 256
MAX_IN_GROUP = 512


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which limits are allowed: they require `within`, the cohort or parent to borrow from and lend to.

    `lends_own`: whether the lending limit is bounded by the nominal quota.
    """

    has_lenders: bool
    within: str
    lends_own: bool


def check_groups(groups: Field, bounds: Bounds) -> list[Field]:
    """Check all resource groups; the fields with the names of their flavors."""
    covered = [one for group in groups.items() for one in group.at("coveredResources").items()]
    flavors = [one.at("name") for group in groups.items() for one in group.at("flavors").items()]
    for fields, what in ((covered, "resources"), (flavors, "flavors")):
        if len(fields) > MAX_IN_ALL:
            groups.wrong(f"has {len(fields)} {what} in all", f"use at most {MAX_IN_ALL}")
    for group in groups.items():
        _check_group(group, bounds)
    check_repeats(covered, "resource")
    check_repeats(flavors, "flavor")
    return flavors


def _check_group(group: Field, bounds: Bounds) -> None:
    covered, flavors = group.at("coveredResources"), group.at("flavors")
    for field in (covered, flavors):
        check_given(field)
    size = len(covered.items()) * len(flavors.items())
    if size > MAX_IN_GROUP:
        group.wrong(f"has {size} quotas", f"use at most {MAX_IN_GROUP} in a group")
    names = [name.text() for name in covered.items()]
    for flavor in flavors.items():
        check_reference(flavor.at("name"), "a ResourceFlavor")
        _check_order(flavor.at("resources"), names)
        for quota in flavor.at("resources").items():
            _check_quota(quota, bounds)


def _check_order(resources: Field, covered: Sequence[str]) -> None:
    """Check that there is one quota for every covered resource, in the same order."""
    fields = [one.at("name") for one in resources.items()]
    names = [field.text() for field in fields]
    if not covered:
        return
    if not names:
        resources.wrong("is missing", f"add a quota for each of: {', '.join(covered)}")
        return
    for field, name in zip(fields, names, strict=True):
        if name not in covered:
            field.wrong(f"is {shown(name)}, which the group does not cover", "add it to coveredResources, or remove it")
    missing = [name for name in covered if name not in names]
    if missing:
        resources.wrong(f"has no quota for {', '.join(missing)}", "add a quota for every resource of coveredResources")
    check_repeats(fields, "resource")
    if sorted(names) == sorted(covered) and names != list(covered):
        order = ", ".join(covered)
        resources.wrong(f"lists {', '.join(names)}", f"use the order of coveredResources: {order}")


def _check_quota(quota: Field, bounds: Bounds) -> None:
    nominal = check_quantity(quota.at("nominalQuota"))
    for key in ("borrowingLimit", "lendingLimit"):
        limit = quota.at(key)
        exact = check_quantity(limit) if limit.given else None
        if limit.given and not bounds.has_lenders:
            limit.wrong(f"requires {bounds.within}", f"remove it, or set {bounds.within}")
        if key == "lendingLimit" and bounds.lends_own and exact is not None and nominal is not None and exact > nominal:
            text = f"is {limit.value}, more than the nominal quota of {quota.at('nominalQuota').value}"
            limit.wrong(text, "use at most the nominal quota")
