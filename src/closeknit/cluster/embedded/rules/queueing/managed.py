"""Which jobs are held: by namespace, by queue, and unless an owner is held already."""

from __future__ import annotations

from typing import Any

from .....dialects.kueue import keys
from .....dialects.kueue.jobs.kinds import LIVE, SERVING, Integration, Serving
from ....kinds import BY_NAME, DAEMON_SET, LOCAL_QUEUE, NAMESPACE, WORKLOAD_PRIORITY_CLASS, Kind
from ....port import Raw
from ...store import Store
from ..settings import AdmissionSettings

DEFAULT = "default"
"""The name of the default queue, and of the default priority class."""
FARTHEST = 10
"""How many levels of owners are followed."""


def job_kind(settings: AdmissionSettings, kind: Kind) -> Integration | Serving | None:
    """The integration of this kind of job; None for other kinds, and for disabled ones."""
    found: Integration | Serving | None = _JOB_KINDS.get((kind.group, kind.kind))
    return found if found is not None and found.framework in settings.frameworks else None


_JOB_KINDS: dict[tuple[str, str], Integration | Serving] = {**LIVE, **SERVING}


def is_managed_namespace(store: Store, settings: AdmissionSettings, namespace: str) -> bool:
    home = store.find(NAMESPACE, "", namespace)
    return home is not None and settings.namespaces.matches(home["metadata"].get("labels") or {})


def has_default_queue(store: Store, namespace: str) -> bool:
    return (namespace, DEFAULT) in store.objects[LOCAL_QUEUE]


def has_default_class(store: Store) -> bool:
    return ("", DEFAULT) in store.objects[WORKLOAD_PRIORITY_CLASS]


def queue_of(raw: Raw) -> str:
    """The name of the queue in an object's labels."""
    return (raw["metadata"].get("labels") or {}).get(keys.QUEUE) or ""


def is_held(settings: AdmissionSettings, raw: Raw) -> bool:
    return settings.all_jobs or bool(queue_of(raw))


def controller_of(raw: Raw) -> Raw | None:
    owners: Any = raw["metadata"].get("ownerReferences")
    return next((one for one in owners if one.get("controller")), None) if owners else None


def kind_of_owner(owner: Raw) -> Kind | None:
    group = (owner.get("apiVersion") or "").rpartition("/")[0]
    return BY_NAME.get((group, owner.get("kind") or ""))


def is_of_daemon_set(pod: Raw) -> bool:
    """Whether a DaemonSet controls the pod: it belongs to its node, and is never held."""
    owner = controller_of(pod)
    return owner is not None and kind_of_owner(owner) is DAEMON_SET


def has_job_for_owner(settings: AdmissionSettings, raw: Raw) -> bool:
    """Whether its owner could itself wait in a queue."""
    owner = controller_of(raw)
    kind = None if owner is None else kind_of_owner(owner)
    return kind is not None and job_kind(settings, kind) is not None


def held_ancestor(store: Store, settings: AdmissionSettings, raw: Raw) -> Raw | None:
    """The nearest owner that is held; its dependents run when it does."""
    namespace = raw["metadata"].get("namespace", "")
    for _ in range(FARTHEST):
        owner = controller_of(raw)
        kind = None if owner is None else kind_of_owner(owner)
        found = None if kind is None or owner is None else store.find(kind, namespace, owner.get("name") or "")
        if owner is None or kind is None or found is None or found["metadata"]["uid"] != owner.get("uid"):
            return None
        if job_kind(settings, kind) is not None and is_held(settings, found):
            return found
        raw = found
    return None
