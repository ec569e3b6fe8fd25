"""Reads running pods from files, as usage columns over the rows of a node table.

Every pod that is bound and has not ended counts, whichever scheduler placed it. A million of them are read in seconds:
only the node, the phase and the text of the resources are read from each pod, pods with equal text are computed once,
and numpy adds them up at the end.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from ..cluster.mistakes import Mistakes
from ..cluster.typed import Tick, explain, objects
from ..dialects import core
from ..dialects.pods import takes_room
from ..model.mistake import Mistake
from ..model.pod_rules import PodKind
from ..model.resources import PODS, Resources
from ..state.numa.zone_plans import KubeletPod
from ..state.snapshot import LIMIT
from ..state.table import IntArray, NodeTable
from .nodes import NAMED, name_some
from .pod_kinds import KindCache
from .quantities import bad_quantities
from .zone_needs import needs_of

KEPT = 1 << 16
"""How many different resource texts are cached."""

GROUP_MARKS = (
    b"pod-group-name",
    b"schedulingGroup",
    b"workloadRef",
    b"/group-name",
    b"sh/job-name",
    b"podgang",
)
"""What is in the text of every pod that names a group of some dialect."""

Key = tuple[bytes, ...]

_NOTHING = msgspec.Raw(b"")
_full = msgspec.json.Decoder(core.WirePod)


@dataclass(frozen=True, slots=True)
class Pods:
    """`used` has a column per resource, `pods` among them, in the row order of the given table.

    `pinned` is the part of it that cannot move to another node: pods of DaemonSets, and static pods.
    """

    used: dict[str, IntArray]
    pinned: dict[str, IntArray] = field(default_factory=dict)
    counted: int = 0
    skipped: int = 0
    elsewhere: int = 0
    warnings: list[Mistake] = field(default_factory=list)
    kinds: Counter[tuple[str, PodKind]] = field(default_factory=Counter)
    """Pods by node and kind, if kinds were asked for."""
    zoned: dict[str, tuple[str, KubeletPod]] = field(default_factory=dict)
    """For each pod on a node with zones the node, and what its kubelet sees of it."""


class FileContainer(core.Struct):
    name: str | None = None
    resources: msgspec.Raw = _NOTHING
    restart_policy: str | None = None


class FilePodSpec(core.Struct):
    node_name: str | None = None
    containers: list[FileContainer] | None = None
    init_containers: list[FileContainer] | None = None
    overhead: msgspec.Raw = _NOTHING
    resources: msgspec.Raw = _NOTHING

    @property
    def key(self) -> Key:
        """Equal for pods whose requests have the same text."""
        key = [bytes(one.resources) for one in self.containers or ()]
        if self.init_containers:
            key.append(b"init")
            for one in self.init_containers:
                key += (bytes(one.resources), (one.restart_policy or "").encode())
        if self.overhead or self.resources:
            key += (b"pod", bytes(self.overhead), bytes(self.resources))
        return tuple(key)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all containers, in start order."""
        return tuple(one.name or "" for one in (*(self.init_containers or ()), *(self.containers or ())))


class FilePodOwner(core.Struct):
    kind: str | None = None


class FilePodName(core.Struct):
    name: str | None = None
    namespace: str | None = None
    labels: core.Labels | None = None
    deletion_timestamp: str | None = None
    owner_references: list[FilePodOwner] | None = None

    def __str__(self) -> str:
        return f"{self.namespace or 'default'}/{self.name or ''}"


_NO_NAME, _NO_SPEC = FilePodName(), FilePodSpec()


class FilePod(core.Struct):
    """Read a million times, so absent or null fields stay None until they are used."""

    kind: str | None = None
    metadata: FilePodName | None = None
    spec: FilePodSpec | None = None
    status: core.PodStatus | None = None

    @property
    def node(self) -> str:
        """The node that the pod is bound to, if any."""
        return (self.spec.node_name if self.spec is not None else None) or ""

    @property
    def runs(self) -> bool:
        return takes_room(self.node, None if self.status is None else self.status.phase)

    @property
    def pinned(self) -> bool:
        """Whether the pod belongs to its node: of a DaemonSet, or the mirror of a static pod."""
        owners = self.metadata.owner_references if self.metadata is not None else None
        return any(owner.kind in ("DaemonSet", "Node") for owner in owners) if owners else False


def read_pods(
    paths: Sequence[str],
    table: NodeTable,
    tick: Tick | None = None,
    kinds: bool = False,
    zoned: Collection[str] = (),
) -> Pods:
    """What the pods of all paths use on the nodes of a table; all mistakes in them are raised together.

    With `kinds`, pods are also counted by what rules of other pods look at. `zoned` are nodes whose zones are known.
    """
    known, by_kind = KindCache(kinds), Counter[tuple[str, PodKind]]()
    mistakes = Mistakes()
    row_of = {name: row for row, name in enumerate(table.names)}
    shapes = _Shapes(mistakes)
    rows, codes, pinned = array("q"), array("q"), array("b")
    skipped = elsewhere = 0
    unknown: dict[str, None] = {}
    needs: dict[str, tuple[str, KubeletPod]] = {}
    for path in paths:
        for where, data, pod in objects(path, FilePod, "Pod", mistakes, tick):
            if not pod.runs:
                skipped += 1
                continue
            code = shapes.code(pod, data, where)
            row = row_of.get(pod.node)
            if row is None:
                elsewhere += 1
                unknown[pod.node] = None
            else:
                rows.append(row)
                codes.append(code)
                pinned.append(pod.pinned)
                meta = pod.metadata or _NO_NAME
                leaves = meta.deletion_timestamp is not None
                kind = known.of_text(meta.namespace or "default", meta.labels or {}, data, leaves) if kinds else None
                if kind is not None:
                    by_kind[pod.node, kind] += 1
                if pod.node in zoned and code >= 0:
                    needs[str(meta)] = pod.node, needs_of(data)
    mistakes.check()
    used = _sums(len(table), rows, codes, shapes.requests)
    stays = np.frombuffer(pinned, dtype=np.bool_) if pinned else np.empty(0, dtype=np.bool_)
    kept_rows, kept_codes = (array("q", np.frombuffer(c, dtype=np.int64)[stays].tobytes()) for c in (rows, codes))
    staying = _sums(len(table), kept_rows, kept_codes, shapes.requests) if len(kept_rows) else {}
    warnings = _unknown_nodes(elsewhere, list(unknown))
    return Pods(used, staying, len(rows), skipped, elsewhere, warnings, by_kind, needs)


def grouped_pods(paths: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """The whole objects of the pods that name a group, each with its file; the others are skipped."""
    mistakes = Mistakes()
    found = [
        (where, {"apiVersion": "v1", "kind": "Pod", **msgspec.json.decode(data)})
        for path in paths
        for where, data, _ in objects(path, FilePod, "Pod", mistakes)
        if any(mark in data for mark in GROUP_MARKS)
    ]
    mistakes.check()
    return found


class _Shapes:
    """The distinct requests of pods; a code is an index into `requests`."""

    def __init__(self, mistakes: Mistakes) -> None:
        self.requests: list[Resources] = []
        self._mistakes = mistakes
        self._by_text: dict[Key, int] = {}
        self._by_value: dict[tuple[tuple[str, int], ...], int] = {}

    def code(self, pod: FilePod, data: bytes, where: str) -> int:
        key = (pod.spec or _NO_SPEC).key
        code = self._by_text.get(key)
        if code is None:
            code = self._compute(pod, data, where)
            if len(self._by_text) >= KEPT:
                self._by_text.clear()
            if code >= 0:
                self._by_text[key] = code
        return code

    def _compute(self, pod: FilePod, data: bytes, where: str) -> int:
        """The code, or -1 with the mistakes noted; mistakes are not cached, so that each pod is named."""
        try:
            spec = _full.decode(data).spec
        except msgspec.ValidationError as error:
            self._mistakes.add(explain({"kind": "Pod", **msgspec.json.decode(data)}, error, where))
            return -1
        wrong = _bad_needs(spec, f"Pod {pod.metadata or _NO_NAME}", where)
        if wrong:
            for mistake in wrong:
                self._mistakes.add(mistake)
            return -1
        value = tuple(sorted({**core.requests(spec), PODS: 1}.items()))
        code = self._by_value.setdefault(value, len(self.requests))
        if code == len(self.requests):
            self.requests.append(dict(value))
        return code


def _bad_needs(spec: core.PodSpec, what: str, where: str) -> list[Mistake]:
    fields = [("spec.resources", spec.resources)]
    for name, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        fields += [(f"spec.{name}[{i}].resources", one.resources) for i, one in enumerate(containers or ())]
    wrong = list(bad_quantities(spec.overhead, "spec.overhead", what, where))
    for path, needs in fields:
        if needs is not None:
            wrong += bad_quantities(needs.requests, f"{path}.requests", what, where)
            wrong += bad_quantities(needs.limits, f"{path}.limits", what, where)
    return wrong


def _sums(size: int, rows: array[int], codes: array[int], requests: Sequence[Resources]) -> dict[str, IntArray]:
    """Per resource the sum over the pods of each row, capped at LIMIT."""
    used: dict[str, IntArray] = {PODS: np.zeros(size, dtype=np.int64)}
    at, shape = np.frombuffer(rows, dtype=np.int64), np.frombuffer(codes, dtype=np.int64)
    busiest = int(np.bincount(at).max()) if len(at) else 0
    for resource in dict.fromkeys(name for one in requests for name in one):
        values = [one.get(resource, 0) for one in requests]
        exact = max(values) * busiest <= LIMIT
        column = np.zeros(size, dtype=np.int64 if exact else np.object_)
        np.add.at(column, at, np.array(values, dtype=column.dtype)[shape])
        used[resource] = np.minimum(column, LIMIT).astype(np.int64)
    return used


def _unknown_nodes(elsewhere: int, names: Sequence[str]) -> list[Mistake]:
    if not elsewhere:
        return []
    text = f"pods on nodes that were not given: {elsewhere} (on {name_some(names[:NAMED], len(names))})"
    return [Mistake(text, "give all nodes, or leave those pods out")]
