"""What a pod of a LeaderWorkerSet gets at creation: its group, its index in it, and the leader's address.

In a real cluster a webhook does this, since a StatefulSet gives all its pods the same template. Here the StatefulSet
stand-in calls `dressed`. Exclusive placement and the additions for TPUs are left out.
"""

from __future__ import annotations

import hashlib

from ....port import Raw
from ..children import with_env

PREFIX = "leaderworkerset.sigs.k8s.io/"
NAME, GROUP_INDEX, WORKER_INDEX = PREFIX + "name", PREFIX + "group-index", PREFIX + "worker-index"
GROUP_KEY, REVISION, SIZE = PREFIX + "group-key", PREFIX + "template-revision-hash", PREFIX + "size"
LEADER_NAME, REPLICAS = PREFIX + "leader-name", PREFIX + "replicas"
SUBGROUP_INDEX, SUBGROUP_KEY = PREFIX + "subgroup-index", PREFIX + "subgroup-key"
SUBGROUP_SIZE, SUBGROUP_TYPE = PREFIX + "subgroup-size", PREFIX + "subgroup-policy-type"
SUBDOMAIN_POLICY = PREFIX + "subdomainPolicy"
UNIQUE = "UniquePerReplica"


def is_dressable(pod: Raw) -> bool:
    """Whether the pod belongs to a LeaderWorkerSet."""
    return NAME in (pod["metadata"].get("labels") or {})


def dressed(pod: Raw) -> Raw:
    """The named pod with its group, index and leader address set."""
    meta, notes = pod["metadata"], pod["metadata"].get("annotations") or {}
    labels, spec = dict(meta["labels"]), dict(pod["spec"])
    group, _, ordinal = meta["name"].rpartition("-")
    leader = notes.get(LEADER_NAME) or meta["name"]
    if leader == meta["name"]:
        labels[WORKER_INDEX] = "0"
        labels.setdefault(GROUP_INDEX, ordinal)
        labels.setdefault(GROUP_KEY, group_key(meta["namespace"], leader))
        if notes.get(SUBDOMAIN_POLICY) == UNIQUE:
            spec["subdomain"] = leader
    else:
        labels[WORKER_INDEX] = ordinal
    labels |= _subgroup(notes, leader, int(labels[WORKER_INDEX]))
    env = [
        {"name": "LWS_LEADER_ADDRESS", "value": f"{leader}.{spec.get('subdomain') or group}.{meta['namespace']}"},
        {"name": "LWS_GROUP_SIZE", "value": notes.get(SIZE, "1")},
        {"name": "LWS_WORKER_INDEX", "value": labels[WORKER_INDEX]},
    ]
    for part in ("initContainers", "containers"):
        if spec.get(part):
            spec[part] = with_env(spec[part], env, first=True)
    return {**pod, "metadata": {**meta, "labels": labels}, "spec": spec}


def group_key(namespace: str, leader: str) -> str:
    return _digest(f"{namespace}/{leader}")


def _subgroup(notes: Raw, leader: str, index: int) -> dict[str, str]:
    """The subgroup of a pod. A leader in excess belongs to the first subgroup, or to none.

    With 4 pods and subgroups of two: 0 and 1, 2 and 3. With 5 pods: 0, 1 and 2; 3 and 4.
    """
    size = int(notes.get(SUBGROUP_SIZE) or 0)
    if not size or (index == 0 and notes.get(SUBGROUP_TYPE) == "LeaderExcluded"):
        return {}
    extra = (int(notes.get(SIZE, "1")) - 1) % size == 0
    at = max(0, index - 1) // size if extra else index // size
    return {SUBGROUP_INDEX: str(at), SUBGROUP_KEY: _digest(f"{leader}/{at}")}


def _digest(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
