"""Chains of owners among a set of objects, by `metadata.ownerReferences`, and what wrappers contain.

A reference is followed by uid, or by kind and name where objects were written by hand. An owner that is not among the
objects is replaced by what the reference says of it: kind and name, without a spec.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...kueue.jobs.identity import ObjectIdentity
from ...kueue.jobs.train_job import RUNTIMES, Source, rendered, runtime_of
from .kinds import CRON_JOB, GANG_LABEL, POD_GANG_KEY, TRAIN_JOB
from .plan import Raw

Found = tuple[str, Raw]
Chain = tuple[Found, ...]
LONGEST = 10
"""The most owners above one another; a longer chain is a cycle."""


class OwnerChains:
    def __init__(self, objects: Sequence[tuple[Found, ObjectIdentity]]) -> None:
        self._by_uid = {identity.uid: one for one, identity in objects if identity.uid}
        self._by_name = {
            (identity.group, identity.kind, identity.namespace, identity.name): one for one, identity in objects
        }
        self._runtimes = {_source(identity): one for one, identity in objects if identity.kind in RUNTIMES}
        self._missing: dict[tuple[str, ...], Found] = {}

    def chain(self, raw: Raw, namespace: str) -> Chain:
        """The owners of an object, the topmost first."""
        chain: list[Found] = []
        while len(chain) < LONGEST and (found := self._above(raw, namespace)) is not None:
            chain.insert(0, found)
            raw = found[1]
        return tuple(chain)

    def _above(self, raw: Raw, namespace: str) -> Found | None:
        metadata = _mapping(raw.get("metadata"))
        gang = _mapping(metadata.get("labels")).get(GANG_LABEL)
        if isinstance(gang, str) and (found := self._by_name.get((*POD_GANG_KEY, namespace, gang))) is not None:
            return None if found[1] is raw else found
        listed = metadata.get("ownerReferences")
        references = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        for one in sorted(references, key=lambda one: one.get("controller") is not True)[:1]:
            return self._owner(one, namespace)
        return None

    def _owner(self, reference: Raw, namespace: str) -> Found:
        version, kind, name, uid = (str(reference.get(key) or "") for key in ("apiVersion", "kind", "name", "uid"))
        key = (version.rpartition("/")[0], kind, namespace, name)
        found = self._by_uid.get(uid) or self._by_name.get(key)
        if found is not None:
            return found
        metadata = {"name": name, "namespace": namespace, **({"uid": uid} if uid else {})}
        missing = ("", {"apiVersion": version, "kind": kind, "metadata": metadata})
        return self._missing.setdefault((*key, uid), missing)

    def inside(self, one: Found, identity: ObjectIdentity) -> Found | None:
        """What a wrapper creates, else the object itself: the Job of a CronJob, the JobSet of a TrainJob.

        Reports a mistake and returns None for a TrainJob without its runtime.
        """
        where, raw = one
        if (identity.group, identity.kind) == CRON_JOB:
            template = identity.field.at("spec", "jobTemplate")
            metadata = {**template.at("metadata").mapping(), "name": identity.name, "namespace": identity.namespace}
            spec = template.at("spec").mapping()
            return where, {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
        if (identity.group, identity.kind) != TRAIN_JOB:
            return one
        job = {**raw, "metadata": {**_mapping(raw.get("metadata")), "namespace": identity.namespace}}
        wanted = runtime_of(job)
        runtime = self._runtimes.get(wanted)
        if runtime is None:
            text = f'refers to {wanted.kind} "{wanted.name}", which is not among the objects'
            identity.field.at("spec", "runtimeRef").wrong(text, "add it: it describes the pods of the job")
            return None
        return where, rendered(job, runtime[1])


def _source(identity: ObjectIdentity) -> Source:
    namespace = identity.namespace if identity.kind == "TrainingRuntime" else ""
    return Source(identity.group, identity.kind, namespace, identity.name)


def _mapping(value: Any) -> Raw:
    return value if isinstance(value, dict) else {}
