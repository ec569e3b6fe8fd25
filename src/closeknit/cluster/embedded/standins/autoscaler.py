"""The cluster autoscaler: it finds or creates capacity for ProvisioningRequests, or fails them.

    check-capacity.autoscaling.x-k8s.io              checks for free capacity, creates nothing
    best-effort-atomic-scale-up.autoscaling.x-k8s.io creates nodes for the pods that do not fit
    anything.closeknit.dev                           creates nodes for all pods

    ∅ ──▶ Accepted ──after the delay──▶ Provisioned, when its nodes are ready ──▶ BookingExpired │ CapacityRevoked
                                   └──▶ Failed

All or nothing: if no single node group can hold all missing pods, no node is created. Nodes come from `node_groups`;
one that stays empty for long enough is removed again. Parameters of a request, as durations: `delay`, `booking`,
`revocation`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

import msgspec

from ....dialects import core
from ....dialects.durations import duration
from ....dialects.timestamps import parse, stamp
from ....model.shape import Shape
from ...kinds import CONFIG_MAP, NODE, POD, POD_TEMPLATE, PROVISIONING_REQUEST
from ...port import Change, Create, Delete, Key, Raw
from ..loop import ReconcileAt, Step
from ..store import Store
from .children import condition, controller_of, fingerprint, holds, is_ended, is_ready, status_write, with_condition
from .node_groups import CONFIG_MAP as GROUPS
from .node_groups import GROUP, LONGEST_LABEL, NAMESPACE, REQUEST, NodeGroup, nodes_needed, read
from .pods_by_node import PodsByNode
from .room import NodeRoom
from .settings import DEFAULTS, StandinSettings

CHECK = "check-capacity.autoscaling.x-k8s.io"
SCALE_UP = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
OWN = ".closeknit.dev"


class NoCapacityError(Exception):
    """There is no capacity, and none can be created; the message is the reason."""


class Autoscaler:
    """`room` is the free capacity, which the binder keeps up to date."""

    watches = (PROVISIONING_REQUEST, NODE, POD)

    def __init__(
        self, settings: StandinSettings = DEFAULTS, room: NodeRoom | None = None, pods_by_node: PodsByNode | None = None
    ) -> None:
        self.settings = settings
        self.room = room or NodeRoom()
        self.pods_by_node = pods_by_node or PodsByNode()
        self._made: dict[str, dict[str, None]] = {}
        """Nodes by the request that they were created for: namespace/name."""
        self._numbers: dict[str, set[str]] = {}
        """Names of the nodes of each group."""
        self._empty: dict[str, float] = {}

    # Keys of a change

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is PROVISIONING_REQUEST:
            return (change.key,) if change.type != "DELETED" else ()
        if change.kind is NODE:
            return self._node_changed(store, change)
        if change.kind is POD:
            self.pods_by_node.see(change)
            node = change.object["spec"].get("nodeName")
            if self.settings.empty_node_time is not None and node and self._is_ours(store, node):
                return (node,)
        return ()

    def _node_changed(self, store: Store, change: Change) -> Iterator[Hashable]:
        meta = change.object["metadata"]
        name, labels = meta["name"], meta.get("labels") or {}
        if GROUP not in labels:
            return
        request = (meta.get("annotations") or {}).get(REQUEST, "")
        names, made = self._numbers.setdefault(labels[GROUP], set()), self._made.setdefault(request, {})
        if change.type == "DELETED":
            names.discard(name)
            made.pop(name, None)
            self._empty.pop(name, None)
            return
        names.add(name)
        made[name] = None
        if request:
            namespace, _, request_name = request.partition("/")
            yield Key(PROVISIONING_REQUEST, namespace, request_name)
        if self.settings.empty_node_time is not None:
            yield name

    def _is_ours(self, store: Store, node: str) -> bool:
        found = store.find(NODE, "", node)
        return found is not None and GROUP in (found["metadata"].get("labels") or {})

    # Reconciling

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        if isinstance(key, str):
            yield from self._tidy(store, key, now)
            return
        assert isinstance(key, Key)
        request = store.find(PROVISIONING_REQUEST, key.namespace, key.name)
        if request is None or not is_known(request["spec"].get("provisioningClassName", "")):
            return
        if holds(request, "Failed") or holds(request, "CapacityRevoked"):
            return
        if holds(request, "Provisioned"):
            yield from self._keep(request, now)
        elif holds(request, "Accepted"):
            yield from self._provide(store, request, now)
        else:
            yield from self._accept(request, now)

    def _accept(self, request: Raw, now: float) -> Iterator[Step]:
        delay = self._time(request, "delay", self.settings.provisioning_delay)
        eta = f"Capacity is expected at {stamp(now + (delay or 0))}"
        yield from _report(
            request,
            now,
            ("Accepted", True, "Accepted", "Provisioning request was accepted"),
            ("Provisioned", False, "CapacityIsPending", eta),
        )

    def _provide(self, store: Store, request: Raw, now: float) -> Iterator[Step]:
        accepted = condition(request, "Accepted")
        delay = self._time(request, "delay", self.settings.provisioning_delay)
        assert accepted is not None
        if delay is None:
            return
        if (at := parse(accepted["lastTransitionTime"]) + delay) > now:
            yield ReconcileAt(at)
            return
        made = self._made.get(_full_name(request))
        if made:
            yield from self._wait(store, request, made, now)
            return
        try:
            plan = self._plan(store, request)
        except (NoCapacityError, ValueError) as error:
            yield from _report(request, now, ("Failed", True, "CapacityIsNotFound", str(error)))
            return
        if plan is None:
            yield from _report(
                request, now, ("Provisioned", True, "CapacityIsFound", "Capacity is found in the cluster")
            )
            return
        yield from self._make(store, request, *plan)

    def _wait(self, store: Store, request: Raw, made: Iterable[str], now: float) -> Iterator[Step]:
        """Wait until the created nodes are ready."""
        nodes = [store.find(NODE, "", name) for name in made]
        if not all(node is not None and is_ready(node) for node in nodes):
            return
        group = next(node["metadata"]["labels"][GROUP] for node in nodes if node is not None)
        details = {"NodeGroup": group, "ProvisioningRequest": label_of(request)}
        text = f"Capacity is provisioned: {len(nodes)} nodes of group {group}"
        yield from _report(request, now, ("Provisioned", True, "CapacityIsProvisioned", text), details=details)

    def _make(self, store: Store, request: Raw, group: NodeGroup, count: int) -> Iterator[Step]:
        number = 0
        while count:
            number += 1
            if store.find(NODE, "", group.node_name(number)) is not None:
                continue
            body = group.body(number, label_of(request))
            body["metadata"]["annotations"] = {REQUEST: _full_name(request)}
            yield Create(NODE, body)
            count -= 1

    # Is there room?

    def _plan(self, store: Store, request: Raw) -> tuple[NodeGroup, int] | None:
        """The group to grow and by how many nodes; None if all pods fit. Raises NoCapacityError."""
        asked = _asked(store, request)
        kind = request["spec"]["provisioningClassName"]
        missing = asked if is_own(kind) else self._without_room(asked)
        if not missing:
            return None
        pods = sum(count for _, count in missing)
        if kind == CHECK:
            raise NoCapacityError(f"Capacity is not found: there is no room for {pods} pods")
        groups = read(store.find(CONFIG_MAP, NAMESPACE, GROUPS))
        if not groups:
            raise NoCapacityError(f"There is no room for {pods} pods, and there are no node groups to grow")
        refusals = []
        for group in groups:
            needed = nodes_needed(group, missing)
            left = group.most - len(self._numbers.get(group.name, ()))
            if needed is None:
                refusals.append(f"{group.name} does not fit")
            elif needed > left:
                refusals.append(f"{group.name} needs {needed} more nodes and may have {max(0, left)}")
            else:
                return group, needed
        raise NoCapacityError(f"No node group can hold {pods} more pods: {', '.join(refusals)}")

    def _without_room(self, asked: list[tuple[Shape, int]]) -> list[tuple[Shape, int]]:
        """The pods that do not fit on the existing nodes: all are charged there tentatively, and released again."""
        tried, missing = [], []
        for place, (shape, count) in enumerate(asked):
            for number in range(count):
                node = self.room.find(shape)
                if node is None:
                    missing.append((shape, count - number))
                    break
                tried.append(Key(PROVISIONING_REQUEST, str(place), str(number)))
                self.room.charge(tried[-1], node, shape.charge)
        for key in tried:
            self.room.release(key)
        return missing

    # Afterwards

    def _keep(self, request: Raw, now: float) -> Iterator[Step]:
        """Expire the booking and revoke the capacity after the configured times."""
        provisioned = condition(request, "Provisioned")
        assert provisioned is not None
        since = parse(provisioned["lastTransitionTime"])
        booking = self._time(request, "booking", self.settings.booking_time)
        revocation = self._time(request, "revocation", self.settings.capacity_time)
        if revocation is not None and since + revocation <= now:
            for name in self._made.get(_full_name(request), ()):
                yield Delete(Key(NODE, "", name))
            yield from _report(request, now, ("CapacityRevoked", True, "CapacityRevoked", "Capacity was revoked"))
            return
        if booking is not None and since + booking <= now and not holds(request, "BookingExpired"):
            text = "Capacity reservation time is expired."
            yield from _report(request, now, ("BookingExpired", True, "CapacityReservationTimeExpired", text))
        for span in (booking, revocation):
            if span is not None and since + span > now:
                yield ReconcileAt(since + span)

    def _tidy(self, store: Store, name: str, now: float) -> Iterator[Step]:
        limit = self.settings.empty_node_time
        if limit is None or not self._is_ours(store, name):
            return
        if any(not is_ended(one) and not _is_daemon(one) for one in self.pods_by_node.pods(store, name)):
            self._empty.pop(name, None)
            return
        at = self._empty.setdefault(name, now) + limit
        if at > now:
            yield ReconcileAt(at)
        else:
            yield Delete(Key(NODE, "", name))

    def _time(self, request: Raw, parameter: str, usual: float | None) -> float | None:
        text = (request["spec"].get("parameters") or {}).get(parameter)
        if text is None:
            return usual
        try:
            return duration(text).seconds
        except ValueError:
            return usual


def is_known(kind: str) -> bool:
    return kind in (CHECK, SCALE_UP) or is_own(kind)


def is_own(kind: str) -> bool:
    return kind.endswith(OWN) or kind.startswith("closeknit.dev/")


def label_of(request: Raw) -> str:
    """The label value of nodes created for a request: its name, shortened if necessary."""
    name = str(request["metadata"]["name"])
    return name if len(name) <= LONGEST_LABEL else f"{name[:52]}-{fingerprint(name)}"


def _full_name(request: Raw) -> str:
    return f"{request['metadata']['namespace']}/{request['metadata']['name']}"


def _asked(store: Store, request: Raw) -> list[tuple[Shape, int]]:
    """The requested pods: their shapes and how many of each."""
    result = []
    for one in request["spec"].get("podSets") or ():
        name = (one.get("podTemplateRef") or {}).get("name", "")
        found = store.find(POD_TEMPLATE, request["metadata"]["namespace"], name)
        if found is None:
            raise NoCapacityError(f'PodTemplate "{name}" is not found')
        spec = (found.get("template") or {}).get("spec") or {}
        result.append((core.plain_shape(msgspec.convert(spec, core.PodSpec)), int(one.get("count") or 1)))
    return result


def _report(
    request: Raw, now: float, *what: tuple[str, bool, str, str], details: dict[str, str] | None = None
) -> Iterator[Step]:
    status = request.get("status") or {}
    conditions = status.get("conditions") or []
    generation = request["metadata"].get("generation", 1)
    for kind, holding, reason, message in what:
        conditions = with_condition(conditions, kind, holding, reason, message, now, observedGeneration=generation)
    new = {**status, "conditions": conditions}
    if details:
        new["provisioningClassDetails"] = details
    yield from status_write(PROVISIONING_REQUEST, request, new)


def _is_daemon(pod: Raw) -> bool:
    owner = controller_of(pod)
    return owner is not None and owner["kind"] == "DaemonSet"
