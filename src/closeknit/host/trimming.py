"""The projections of objects that informers store: without the fields that are never read here.

Most of what an API server sends is not needed: managed fields, the images on a node, pods of other controllers. Of a
pod without our labels or annotations only requests and node are stored, so that 100,000 of them fit into little
memory. Objects that we write back are stored whole, and so is an object of an unexpected form: its reader reports it.
"""

from __future__ import annotations

from sys import intern
from typing import Any

import msgspec

from ..cluster.kinds import NODE, POD, VOLUME, VOLUME_CLAIM, Kind
from ..cluster.port import Raw
from ..dialects.nrt.keys import OBSERVED_ZONES
from ..dialects.pods import names_ours

OF_META = ("name", "namespace", "uid", "resourceVersion", "labels", "annotations", "deletionTimestamp")
OF_VOLUMES = {
    VOLUME_CLAIM: ("accessModes", "resources", "selector", "storageClassName", "volumeName"),
    VOLUME: ("accessModes", "capacity", "claimRef", "nodeAffinity", "storageClassName"),
}
"""What is read of the spec of claims and volumes."""
NOT_OF_NODES = ("images", "volumesAttached", "volumesInUse", "nodeInfo", "daemonEndpoints", "features", "config")


class _Row(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    pass


class _Meta(_Row):
    name: str
    uid: str
    resource_version: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    deletion_timestamp: str | None = None
    owner_references: list[dict[str, Any]] | None = None


class _Container(_Row):
    name: str = ""
    resources: dict[str, Any] | None = None
    restart_policy: str | None = None
    ports: list[dict[str, Any]] | None = None


class _Spec(_Row):
    node_name: str | None = None
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    overhead: dict[str, Any] | None = None
    resources: dict[str, Any] | None = None
    host_network: bool | None = None
    affinity: dict[str, Any] | None = None
    volumes: list[dict[str, Any]] | None = None


class _Status(_Row):
    phase: str | None = None


class _Pod(_Row):
    metadata: _Meta
    spec: msgspec.Raw
    status: _Status | None = None


_pod = msgspec.json.Decoder(_Pod)
_spec = msgspec.json.Decoder(_Spec)
_whole = msgspec.json.Decoder(Raw)


class Trimmer:
    """`all_pods`: every pod may be managed, so all are stored whole. `kinds`: jobs may have rules about other pods, so
    that the labels, ports, affinity and claims of unmanaged ones count."""

    def __init__(self, all_pods: bool = False, kinds: bool = False) -> None:
        self.all_pods, self.kinds = all_pods, kinds

    def __call__(self, kind: Kind, data: bytes | msgspec.Raw | Raw) -> Raw:
        """What to store of an object, given as JSON or decoded; fields of a decoded one may be removed."""
        try:
            return self._trimmed(kind, data)
        except (msgspec.ValidationError, TypeError, AttributeError):
            return data if isinstance(data, dict) else _whole.decode(data)

    def _trimmed(self, kind: Kind, data: bytes | msgspec.Raw | Raw) -> Raw:
        if kind is POD and not self.all_pods:
            pod = _pod.decode(msgspec.json.encode(data) if isinstance(data, dict) else data)
            meta = pod.metadata
            if not names_ours(meta.labels or (), meta.annotations or (), meta.finalizers or ()):
                return _row(pod, self.kinds)
        raw = data if isinstance(data, dict) else _whole.decode(data)
        raw["metadata"].pop("managedFields", None)
        if kind is NODE:
            for part in NOT_OF_NODES:
                raw.get("status", {}).pop(part, None)
        return _of_volume(raw, OF_VOLUMES[kind]) if kind in OF_VOLUMES else raw


class Whole(Trimmer):
    """Objects as they are, without their managed fields, for those who write any of them back."""

    def _trimmed(self, kind: Kind, data: bytes | msgspec.Raw | Raw) -> Raw:
        raw: Raw = data if isinstance(data, dict) else _whole.decode(data)
        raw["metadata"].pop("managedFields", None)
        return raw


def _of_volume(raw: Raw, parts: tuple[str, ...]) -> Raw:
    phase = {"phase": raw["status"]["phase"]} if "phase" in raw.get("status", {}) else {}
    meta, spec = raw["metadata"], raw.get("spec", {})
    return {
        "metadata": {key: meta[key] for key in OF_META if key in meta},
        "spec": {key: spec[key] for key in parts if key in spec},
        "status": phase,
    }


def _row(pod: _Pod, kinds: bool) -> Raw:
    """The pod's requests and node, and with `kinds` what rules of other pods look at."""
    meta = pod.metadata
    observed = (meta.annotations or {}).get(OBSERVED_ZONES)
    meta.annotations, meta.finalizers = {OBSERVED_ZONES: observed} if observed else None, None
    spec = _spec.decode(pod.spec)
    containers = (*(spec.containers or ()), *(spec.init_containers or ()))
    for one in containers:
        one.name = intern(one.name)
    if not kinds:
        meta.labels = spec.host_network = spec.affinity = spec.volumes = None
        for one in containers:
            one.ports = None
    row: Raw = msgspec.to_builtins({"metadata": meta, "spec": spec, "status": pod.status or _Status()})
    return row
