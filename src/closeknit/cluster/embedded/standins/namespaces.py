"""The namespace controller: creates the default service account, and empties a terminating namespace."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from ...kinds import EVENT, KINDS, NAMESPACE, SERVICE_ACCOUNT, Kind
from ...port import Change, Create, Delete, Key, Raw, Update, key_of
from ..loop import Step
from ..store import Store
from .children import is_deleting, status_write, with_condition

FINALIZER = "kubernetes"
ACCOUNT = "default"


class Namespaces:
    watches: tuple[Kind, ...] = ()

    def __init__(self) -> None:
        self._left: dict[str, set[Key]] = {}
        """The objects that are left in terminating namespaces."""

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is NAMESPACE:
            name = change.object["metadata"]["name"]
            if change.type == "DELETED":
                self._left.pop(name, None)
                return ()
            return (name,)
        if change.type != "DELETED":
            return ()
        namespace = change.object["metadata"].get("namespace", "")
        left = self._left.get(namespace)
        if left is not None:
            left.discard(change.key)
            return () if left else (namespace,)
        if change.kind is SERVICE_ACCOUNT and change.object["metadata"]["name"] == ACCOUNT:
            return (namespace,)
        return ()

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        name = str(key)
        namespace = store.find(NAMESPACE, "", name)
        if namespace is None:
            return
        if is_deleting(namespace):
            yield from self._empty(store, name, namespace, now)
        elif store.find(SERVICE_ACCOUNT, name, ACCOUNT) is None:
            yield Create(SERVICE_ACCOUNT, {"metadata": {"name": ACCOUNT, "namespace": name}})

    def _empty(self, store: Store, name: str, namespace: Raw, now: float) -> Iterator[Step]:
        if self._left.get(name):
            return
        inside = [
            (key_of(kind, raw), raw)
            for kind in KINDS
            if kind.namespaced
            for (home, _), raw in store.objects[kind].items()
            if home == name
        ]
        if not inside:
            finalizers = [one for one in (namespace.get("spec") or {}).get("finalizers") or () if one != FINALIZER]
            spec = {**(namespace.get("spec") or {}), "finalizers": finalizers}
            yield Update(NAMESPACE, {**namespace, "spec": spec}, "finalize")
            return
        self._left[name] = {key for key, _ in inside}
        yield from _report_remaining(namespace, [key for key, _ in inside], now)
        for key, raw in inside:
            if not is_deleting(raw):
                yield Delete(key, uid=raw["metadata"]["uid"])


def _report_remaining(namespace: Raw, keys: list[Key], now: float) -> Iterator[Step]:
    """Report the objects that a terminating namespace waits for."""
    counts: dict[str, int] = {}
    for key in keys:
        if key.kind is not EVENT:
            resource = f"{key.kind.plural}.{key.kind.group}" if key.kind.group else f"{key.kind.plural}."
            counts[resource] = counts.get(resource, 0) + 1
    listed = ", ".join(f"{resource} has {count} resource instances" for resource, count in sorted(counts.items()))
    status = namespace.get("status") or {}
    conditions = with_condition(
        status.get("conditions"),
        "NamespaceContentRemaining",
        True,
        "SomeResourcesRemain",
        f"Some resources are remaining: {listed}",
        now,
    )
    yield from status_write(NAMESPACE, namespace, {**status, "conditions": conditions})
