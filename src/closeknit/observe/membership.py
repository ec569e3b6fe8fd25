"""Whether a pod belongs to the Workload that it names.

The annotation, the pod-set label and the gate of a pod prove nothing: any user that may create pods may write
them. A pod is a member if its chain of owners leads to the owner of the Workload, link by link, each a real child of
the next; a pod group has its own rule, that its managed pods name it. With the gate VerifyPodOwners off these marks
are enough, as in Kueue.

A link is looked up among the watched objects. If one is missing, it may just not be in the cache yet; and an owner of a
kind that is not watched cannot be verified at all (docs/designs/members-by-owner.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto

from ..cluster import kinds
from ..cluster.kinds import Kind
from ..cluster.port import Raw
from ..dialects.kueue import keys
from ..dialects.kueue.jobs import marks
from ..dialects.kueue.jobs.children import between, has_unlisted_owners, is_child
from ..dialects.kueue.jobs.kinds import LIVE, SERVING, pod_groups
from ..model.pod import Pod
from .cluster_cache import ClusterCache
from .pod_cache import group_of

GENERATIONS = 10
"""How many levels of owners are followed."""
GATE = "VerifyPodOwners"
KNOWN = frozenset(name for _, name in (*LIVE, *SERVING)) | {"Pod"}
"""Kinds of owners whose children are all watched; an AppWrapper may wrap any kind."""


class Kinship(Enum):
    MEMBER = auto()
    STRANGER = auto()
    UNKNOWN = auto()
    """An owner of the pod is not in the cache."""


def kinship(cache: ClusterCache, pod: Pod, workload: Raw) -> Kinship:
    """Whether the pod is one of the Workload's; it names the Workload."""
    if GATE not in cache.gates:
        return Kinship.MEMBER
    raw = cache.raw[kinds.POD].get((pod.namespace, pod.name))
    owners = workload["metadata"].get("ownerReferences") or ()
    if raw is None:
        return Kinship.STRANGER
    if pod_groups.is_of_group(workload) and not any(one.get("kind") in _SETS for one in owners):
        return Kinship.MEMBER if _names_group(raw, workload) else Kinship.STRANGER
    if any(one.get("uid") == pod.uid for one in owners):
        return Kinship.MEMBER
    return _descent(cache, raw, {one.get("uid"): one.get("kind", "") for one in owners})


_SETS = frozenset(name for _, name in SERVING)


def links(cache: ClusterCache, managed: Iterable[Kind]) -> list[Kind]:
    """The kinds to watch, besides those that are managed, so that chains of owners can be followed."""
    names = between(kind.kind for kind in managed) if GATE in cache.gates else ()
    return [kinds.BY_NAME[one] for one in (*LIVE, *SERVING) if one[1] in names and one in kinds.BY_NAME]


def _names_group(pod: Raw, workload: Raw) -> bool:
    """A pod group's rule: its pods were marked as managed at their creation, and name the group or its Workload."""
    meta, name = pod["metadata"], workload["metadata"]["name"]
    labels, notes = meta.get("labels") or {}, meta.get("annotations") or {}
    prebuilt = notes.get(keys.PREBUILT) or labels.get(keys.PREBUILT)
    return marks.MANAGED in labels and bool(group_of(pod)) and name in (group_of(pod), prebuilt)


def _descent(cache: ClusterCache, child: Raw, owners: dict[str, str]) -> Kinship:
    """Follow the controlling owners of a pod up to an owner of its Workload."""
    is_open = any(_is_open(cache, uid, kind) for uid, kind in owners.items())
    for _ in range(GENERATIONS):
        reference = _controller(child)
        if reference is None:
            return Kinship.STRANGER
        key = cache.by_uid.get(reference["uid"])
        above = None if key is None else cache.find(key)
        if above is None:
            if reference["uid"] in owners:
                return Kinship.MEMBER if is_open else Kinship.UNKNOWN
            return Kinship.MEMBER if is_open and reference.get("kind") not in KNOWN else Kinship.UNKNOWN
        if above["metadata"].get("namespace") != child["metadata"].get("namespace") or not is_child(above, child):
            return Kinship.STRANGER
        if reference["uid"] in owners:
            return Kinship.MEMBER
        child = above
    return Kinship.STRANGER


def _is_open(cache: ClusterCache, uid: str, kind: str) -> bool:
    """Whether a chain to this owner of a Workload may have links that are not watched."""
    if kind != "AppWrapper":
        return kind not in KNOWN
    key = cache.by_uid.get(uid)
    wrapper = None if key is None else cache.find(key)
    return wrapper is not None and has_unlisted_owners(wrapper)


def _controller(raw: Raw) -> Raw | None:
    return next((one for one in raw["metadata"].get("ownerReferences") or () if one.get("controller")), None)
