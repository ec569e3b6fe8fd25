"""Why a pod set was not placed: a closed set of reasons with their numbers, rendered in one place.

A reason is a value, never an exception. Its text is what users read in conditions, events and on the terminal;
for reasons that Kueue has, it is Kueue's text to the letter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Why(Enum):
    """The kinds of reason, each with its text."""

    NO_ROOM = ""
    NO_ROOM_FOR_LAYERS = 'topology "{topology}" doesn\'t allow to fit{layers}'
    LEVEL_NOT_SPECIFIED = "topology level not specified"
    NO_LEVEL = "no requested topology level: {level}"
    NO_SLICE_LEVEL = "no requested topology level for slices: {level}"
    SLICE_ABOVE_POD_SET = "podset slice topology {slice} is above the podset topology {level}"
    SLICE_WITHOUT_SIZE = "slice topology requested, but slice size not provided"
    NO_LAYER_LEVEL = "no requested topology level for additional slice layer: {level}"
    LAYER_NOT_LOWER = "additional slice layer topology {level} must be at a lower level than {parent}"
    LAYER_NOT_DIVIDING = "additional slice layer size {size} must evenly divide parent layer size {parent}"
    NO_DOMAINS = "no topology domains at level: {level}"
    STALE_ASSIGNMENT = (
        "Cannot replace the node, because the existing topologyAssignment is invalid, "
        "as it contains the stale domain {domain}"
    )
    NO_REPLACEMENT = "cannot find replacement assignment for unhealthy node: {node}"
    # Not in Kueue.
    UNEVEN_SLICES = "{count} pods do not divide into slices of {size}; use {nearest} pods"
    LESS_THAN_A_SLICE = "{count} pods are fewer than one slice of {size}; nothing can be balanced"
    LEADER_WITHOUT_PREVIOUS = (
        "pod set {leader} has no previous assignment to keep while {workers} shrinks; place the whole group again"
    )
    NO_ROOM_FOR_REPLICAS = (
        'topology "{topology}" allows to fit only {placed} out of {total} replica(s) of {size} pod(s){each}; '
        "{fits} out of {need} {unit}(s) of replica {placed} fit"
    )
    IN_REPLICA = "replica {number}: {reason}"
    PAIR_WITH_REPLICAS = "group {group} is a leader with its workers, which cannot be placed replica by replica"
    NO_PAIR = "group {group} is not one pod set, nor a leader with its workers"
    DEEP_GROUP = "group {group} is {depth} levels of groups deep, and only 1 level can be placed"
    NESTED_CONSTRAINT = "pod set {pod_set} is under {count} constraints, and only 1 can be searched for"
    NEEDS_HOSTS = (
        'its pod affinity or topology spread cannot be honoured in topology "{topology}", which does not end at the '
        "host; add the level kubernetes.io/hostname"
    )
    RULES_AGAINST_EACH_OTHER = (
        "the rules of pods about one another do not hold for all pod sets together: pods of {pod_set} could not start "
        "once the others run"
    )
    NOT_FOUND_BY_RULES = "no placement was found within {steps} steps; {why}"
    # Groups of pods.
    NO_TOPOLOGY = 'group {group} names topology "{topology}", which does not exist'
    NO_GROUP_LEVEL = 'topology "{topology}" has no level "{level}"'
    RUNNING_APART = "group {group} requires one {level}, but its pods run in {one} and in {other}"
    GROUP_DOES_NOT_FIT = "group {group} does not fit: {detail}"
    PODS_MISSING = "it waits for {count} more of the pods or groups that its minimum counts and that do not exist yet"
    NOT_FOUND = "no placement was found within {steps} steps; group {group} was the hardest: {detail}"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason. `excluded` counts the leaves that could not serve, by cause."""

    why: Why
    values: Mapping[str, Any] = field(default_factory=dict)
    leaves: int = 0
    excluded: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.why is Why.NO_ROOM:
            return self._no_room() + self._exclusions()
        return str(self.why.value).format(**self.values) + self._exclusions()

    def _no_room(self) -> str:
        fits, need, unit = self.values["fits"], self.values["need"], self.values["unit"]
        head = f'topology "{self.values["topology"]}"'
        if fits > 0:
            return f"{head} allows to fit only {fits} out of {need} {unit}(s)"
        return f"{head} doesn't allow to fit any of {need} {unit}(s)"

    def _exclusions(self) -> str:
        if not self.excluded:
            return ""
        causes = ", ".join(sorted(f"{cause}: {count}" for cause, count in self.excluded.items()))
        return f". Total nodes: {self.leaves}; excluded: {causes}"


def reason(why: Why, **values: Any) -> Reason:
    return Reason(why, values)


def quota_is_free(reason: str, message: str) -> bool:
    """Whether Kueue's reason why a workload waits names quota, and by its message only room on nodes is short."""
    return reason == "WaitingForQuota" and 'topology "' in message and "quota" not in message


def waits_for(reason: str, message: str) -> str:
    """The reason, explained where it would mislead or says too little."""
    if reason == "Suspended" and message:
        return f"{reason} ({message.partition(':')[0]})"
    return f"{reason} (quota is free, room on the nodes is short)" if quota_is_free(reason, message) else reason
