"""A cluster that was read once, from files or from a server, in the cache that the control plane uses.

The cache has the objects and what they use; this adds what commands need besides: the names of workloads, the pods that
stop with them, and the mistakes in the objects. It is not updated: a command reads it and throws it away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..decide.scheduler import Scheduler
from ..dialects.kueue import keys
from ..model.gates import Gates
from ..model.mistake import Mistake
from ..model.name import Name
from ..model.settings import NAMESPACE_NAME
from ..model.workload import Workload
from .cluster_cache import ClusterCache
from .workloads import Surroundings

GROUP_OF_PODS = "Pod group"


@dataclass(slots=True)
class LoadedCluster:
    """`workloads` are the unfinished ones by key, `finished` the others.

    `pods_of` are running pods by the key of the workload that they stop with. `left_out` are invalid objects. `by_uid`
    has the keys of workloads by the uid of their job, `by_stem` by their name without its hash.
    """

    cache: ClusterCache
    workloads: dict[str, Workload] = field(default_factory=dict)
    finished: dict[str, Workload] = field(default_factory=dict)
    names: dict[str, Name] = field(default_factory=dict)
    pods_of: dict[str, list[str]] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    warnings: list[Mistake] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    by_uid: dict[str, str] = field(default_factory=dict)
    by_stem: dict[str, str] = field(default_factory=dict)
    all_namespaces: bool = False
    """Whether no Namespace was given, so that every namespace is taken to exist."""

    @property
    def scheduler(self) -> Scheduler:
        return self.cache.scheduler

    @property
    def around(self) -> Surroundings:
        return self.cache.around

    @property
    def gates(self) -> Gates:
        return self.cache.gates

    def name_of(self, key: str) -> Name:
        known = self.names.get(key)
        return Name("Workload", *key.split("/", 1)) if known is None else known

    def ensure_namespace(self, name: str) -> None:
        if self.all_namespaces:
            self.cache.world.namespaces.setdefault(name, {NAMESPACE_NAME: name})

    def note_owner(self, one: Workload, meta: Mapping[str, Any]) -> None:
        """Index a Workload by its job, as its metadata names it."""
        self.names[one.key] = name = _name(one, meta)
        if one.finished:
            return
        self.by_uid |= dict.fromkeys(_uids(one, meta), one.key)
        if _owners(meta) and name.kind != GROUP_OF_PODS:
            self.by_stem[stem(one.key)] = one.key

    def add(self, one: Workload, name: Name) -> None:
        """Add a workload that is not in the cluster."""
        self.ensure_namespace(one.namespace)
        self.cache.put_workload(one)
        self.workloads[one.key], self.names[one.key] = one, name


def stem(key: str) -> str:
    """The name of a Workload without the hash at its end, which depends on the uid of its owner."""
    return key.rpartition("-")[0]


def _owners(meta: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [owner for owner in meta.get("ownerReferences") or () if isinstance(owner, dict)]


def _uids(one: Workload, meta: Mapping[str, Any]) -> set[str]:
    """The uids of a Workload's jobs."""
    return {*(str(owner.get("uid") or "") for owner in _owners(meta)), one.job_uid} - {""}


def _name(one: Workload, meta: Mapping[str, Any]) -> Name:
    """The name to show: that of its job, if it has one."""
    if (meta.get("annotations") or {}).get(keys.IS_GROUP) == "true":
        return Name(GROUP_OF_PODS, one.namespace, one.name)
    for owner in _owners(meta):
        return Name(str(owner.get("kind")), one.namespace, str(owner.get("name")))
    return Name("Workload", one.namespace, one.name)
