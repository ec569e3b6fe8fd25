"""Binds claims to volumes in place of Kubernetes' volume controller and of provisioners.

A claim whose class binds at once is bound when it appears; one whose class waits is bound when a pod that uses it has a
node. A free volume that matches the claim goes before a new one. A new volume is reached from the allowed topology of
its class that the node is in, or from everywhere. Reclaiming and resizing are left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from ....dialects.volumes import BIND_COMPLETED, claim, storage_class, volume
from ....model.node import Node
from ....model.shape import Term
from ....model.volumes import Claim, StorageClass
from ...kinds import NODE, POD, STORAGE_CLASS, VOLUME, VOLUME_CLAIM
from ...port import Change, Create, Key, Raw, Update
from ..loop import Step
from ..store import Store
from .children import is_deleting, is_ended, status_write
from .node_affinity import meets
from .room import node_of


class VolumeBinding:
    watches = (VOLUME_CLAIM, VOLUME, STORAGE_CLASS, POD)

    def __init__(self) -> None:
        self._node_of: dict[Key, str] = {}
        """The node of the first pod that used a claim which is not bound."""

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is POD:
            return self._pod_changed(change)
        if change.kind is VOLUME_CLAIM:
            name = change.object["spec"].get("volumeName")
            return (change.key, Key(VOLUME, "", name)) if name else (change.key,)
        waiting = [
            Key(VOLUME_CLAIM, *place) for place, raw in store.objects[VOLUME_CLAIM].items() if not _is_bound(raw)
        ]
        return [change.key, *waiting] if change.kind is VOLUME else waiting

    def _pod_changed(self, change: Change) -> Iterable[Hashable]:
        pod = change.object
        node = pod["spec"].get("nodeName")
        if not node or change.type == "DELETED" or is_ended(pod):
            return ()
        claims = [Key(VOLUME_CLAIM, change.key.namespace, name) for name in _claims_of(pod)]
        for key in claims:
            self._node_of.setdefault(key, node)
        return claims

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        assert isinstance(key, Key)
        raw = store.find(key.kind, key.namespace, key.name)
        if raw is None or is_deleting(raw):
            self._node_of.pop(key, None)
        elif key.kind is VOLUME:
            yield from _with_phase(store, raw)
        elif _is_bound(raw):
            self._node_of.pop(key, None)
            yield from _told(store, raw)
        else:
            yield from self._bind(store, key, raw)

    def _bind(self, store: Store, key: Key, raw: Raw) -> Iterator[Step]:
        wanted = claim(raw)
        found = store.find(STORAGE_CLASS, "", wanted.storage_class or "")
        of = None if found is None else storage_class(found)
        name = self._node_of.get(key)
        at = None if name is None else store.find(NODE, "", name)
        if of is not None and of.waits and at is None and not wanted.volume:
            return
        node = None if at is None else node_of(at)
        free = _free_volume(store, wanted, node)
        if free is not None:
            yield from _bound(raw, free)
        elif of is not None and of.provisions and not wanted.volume:
            yield Create(VOLUME, _made(raw, of, node))


def _is_bound(raw: Raw) -> bool:
    return bool(raw["spec"].get("volumeName")) and BIND_COMPLETED in (raw["metadata"].get("annotations") or {})


def _claims_of(pod: Raw) -> list[str]:
    sources = (one.get("persistentVolumeClaim") for one in pod["spec"].get("volumes") or ())
    return [one["claimName"] for one in sources if one]


def _free_volume(store: Store, wanted: Claim, node: Node | None) -> Raw | None:
    """The smallest free volume that the claim matches and the node reaches."""
    found = []
    for raw in store.objects[VOLUME].values():
        one = volume(raw)
        reached = node is None or one.terms is None or any(meets(node, term) for term in one.terms)
        named = wanted.volume in ("", one.name)
        if named and reached and one.serves(wanted, wanted.storage_class or ""):
            found.append((one.claim != wanted.key, one.size, one.name, raw))
    return min(found, key=lambda entry: entry[:3])[3] if found else None


def _bound(raw: Raw, to: Raw) -> Iterator[Step]:
    meta, name = raw["metadata"], to["metadata"]["name"]
    owner = _reference(raw)
    if to["spec"].get("claimRef") != owner:
        yield Update(VOLUME, {**to, "spec": {**to["spec"], "claimRef": owner}})
    notes = {**(meta.get("annotations") or {}), BIND_COMPLETED: "yes"}
    spec = {**raw["spec"], "volumeName": name}
    yield Update(VOLUME_CLAIM, {**raw, "metadata": {**meta, "annotations": notes}, "spec": spec})


def _told(store: Store, raw: Raw) -> Iterator[Step]:
    """Report that a claim is bound, or that it has lost its volume."""
    found = store.find(VOLUME, "", raw["spec"]["volumeName"])
    if found is None:
        status = {**(raw.get("status") or {}), "phase": "Lost"}
    else:
        spec = found["spec"]
        status = {"accessModes": spec["accessModes"], "capacity": spec["capacity"], "phase": "Bound"}
    yield from status_write(VOLUME_CLAIM, raw, status)


def _with_phase(store: Store, raw: Raw) -> Iterator[Step]:
    owner = raw["spec"].get("claimRef") or {}
    user = store.find(VOLUME_CLAIM, owner.get("namespace", ""), owner.get("name", "")) if owner else None
    if user is not None and user["spec"].get("volumeName") == raw["metadata"]["name"]:
        phase = "Bound"
    else:
        phase = "Released" if owner.get("uid") and user is None else "Available"
    yield from status_write(VOLUME, raw, {**(raw.get("status") or {}), "phase": phase})


def _made(raw: Raw, of: StorageClass, node: Node | None) -> Raw:
    """A new volume for a claim, as a provisioner creates it."""
    spec = raw["spec"]
    terms = [term for term in of.terms or () if node is None or meets(node, term)]
    reach = {"nodeAffinity": {"required": {"nodeSelectorTerms": [_of_node(terms[0], node)]}}} if terms else {}
    return {
        "metadata": {"name": f"pvc-{raw['metadata']['uid']}"},
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "claimRef": _reference(raw),
            "csi": {"driver": "closeknit.dev", "volumeHandle": raw["metadata"]["uid"]},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": of.name,
            **reach,
        },
    }


def _of_node(term: Term, node: Node | None) -> Raw:
    expressions = [
        {"key": one.key, "operator": "In", "values": [*one.values] if node is None else [node.labels[one.key]]}
        for one in term.labels
    ]
    return {"matchExpressions": expressions}


def _reference(raw: Raw) -> Raw:
    meta = raw["metadata"]
    return {
        "apiVersion": "v1",
        "kind": VOLUME_CLAIM.kind,
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
    }
