"""The filter: whether one zone of a node has room for what must be aligned, for all nodes of the same columns at once.

With scope container, init containers and sidecars are tested each by itself against everything that is available; app
containers are tested in order, and each takes its request from the lowest zone that fits, as the kubelet would. There
is no backtracking. With scope pod there is one test of the whole pod's request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...model.container import Container, QoS
from ...numa.pod_needs import PodNeeds
from ...numa.resource_kinds import OF_EVERY_NODE, floats, is_counted, is_host_level
from .outcome import Alignment
from .zone_columns import BoolArray, IntArray, ZoneColumns

NO_ZONE = np.int8(127)

Free = dict[str, IntArray]
"""What is left of resources after earlier containers; those not listed are as reported."""


class _Test(NamedTuple):
    """`zones` are those that fit, by zone and node; `fits` tells whether the node passes."""

    zones: BoolArray
    fits: BoolArray


def left_over(columns: ZoneColumns, taken: Mapping[str, IntArray]) -> Free:
    """What zones have left, at least 0, once this is taken from each of them, by resource and row of the table."""
    free: Free = {}
    for name, amounts in taken.items():
        column = columns.resource(name)
        if column is not None:
            left = np.maximum(column.available - amounts[columns.rows], 0)
            free[name] = np.where(column.available < 0, column.available, left)
    return free


def refusals(columns: ZoneColumns, pod: PodNeeds, free: Free) -> NDArray[np.int8]:
    """The answer for each node of these columns, all of which align to a single zone."""
    answers = np.zeros(columns.size, dtype=np.int8)
    if columns.key.scope == "pod":
        answers[~_tested(columns, pod.effective, pod.qos, free).fits] = Alignment.POD
        return answers
    for container in pod.first:
        refused = ~_tested(columns, dict(container.requests), pod.qos, free).fits
        answers[refused & (answers == 0)] = _of_first(container)
    answers[_apps_refused(columns, pod, free) & (answers == 0)] = Alignment.CONTAINER
    return answers


def _of_first(container: Container) -> Alignment:
    return Alignment.SIDECAR if container.kind == "sidecar" else Alignment.INIT_CONTAINER


def _apps_refused(columns: ZoneColumns, pod: PodNeeds, given: Free) -> BoolArray:
    """The nodes on which an app container finds no zone, after those before it took theirs."""
    refused = np.zeros(columns.size, dtype=bool)
    free = dict(given)
    apps = pod.apps
    for number, container in enumerate(apps):
        requests = dict(container.requests)
        test = _tested(columns, requests, pod.qos, free)
        refused |= ~test.fits
        if number < len(apps) - 1:
            _take(columns, free, test.zones, requests, pod.qos)
    return refused


def _tested(columns: ZoneColumns, requests: Mapping[str, int], qos: QoS, free: Free) -> _Test:
    zones = np.ones((columns.key.zones, columns.size), dtype=bool)
    fits = np.ones(columns.size, dtype=bool)
    for name, amount in requests.items():
        if amount == 0:
            continue
        if name not in OF_EVERY_NODE:
            fits &= columns.offered(name) & is_counted(name)
        column = columns.resource(name)
        if column is None:
            fits &= is_host_level(name)
            continue
        least = 0 if floats(name, qos) else amount  # a zone that does not list it has less than 0
        enough = free.get(name, column.available) >= least
        if is_host_level(name):
            enough |= ~column.somewhere
        zones &= enough
    return _Test(zones, fits & zones.any(axis=0) if columns.key.zones else fits)


def _take(columns: ZoneColumns, free: Free, zones: BoolArray, requests: Mapping[str, int], qos: QoS) -> None:
    """Subtract the requests from the lowest zone that fits."""
    if not columns.key.zones:
        return
    ids = columns.ids | ((zones.view(np.int8) - np.int8(1)) & NO_ZONE)  # NO_ZONE where the zone does not fit
    chosen = zones & (ids == ids.min(axis=0))
    pinned = {name: amount for name, amount in requests.items() if not floats(name, qos)}
    subtract(columns, free, np.flatnonzero(chosen), pinned)


def subtract(columns: ZoneColumns, free: Free, places: IntArray, requests: Mapping[str, int]) -> None:
    """Subtract the requests in these places of the columns, counted by zone and then node.

    A resource that the zone of a place does not list becomes less than UNLISTED, which no request fits either.
    """
    for name, amount in requests.items():
        column = columns.resource(name)
        if amount and column is not None:
            after = np.array(free.get(name, column.available), order="C")
            after.reshape(-1)[places] -= amount
            free[name] = after
