"""What all controllers share: creating children of an owner, inspecting its pods, and writing the status.

Objects are shared with the store and never changed in place, so everything here returns new trees that share the
unchanged parts. `status_write` writes nothing if nothing changed, so reconciling is idempotent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ....dialects.timestamps import parse, stamp
from ...kinds import EVENT, POD, Kind
from ...port import Change, Create, Delete, Key, Raw, Update, key_of
from ..deletion import ENDED
from ..ids import ALPHABET
from ..store import Store

_NONE: Mapping[str, Any] = {}


# Owners


def owner_reference(kind: Kind, owner: Raw, *, controller: bool = True, block: bool = True) -> Raw:
    """An entry of `metadata.ownerReferences` of a child."""
    meta = owner["metadata"]
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": controller,
        "blockOwnerDeletion": block,
    }


def controller_of(raw: Raw) -> Raw | None:
    """The owner reference with `controller: true`; None if the object has no controller."""
    for one in raw["metadata"].get("ownerReferences") or ():
        if one.get("controller"):
            return one  # type: ignore[no-any-return]
    return None


def is_controlled(raw: Raw, owner: Raw) -> bool:
    found = controller_of(raw)
    return found is not None and found["uid"] == owner["metadata"]["uid"]


def children(store: Store, owner: Raw, kind: Kind) -> list[Raw]:
    """The objects of one kind that this object controls, in order of creation."""
    return [one for one in store.owned(owner["metadata"]["uid"], kind) if is_controlled(one, owner)]


def family(change: Change, kind: Kind) -> Iterator[Key]:
    """The owners of `kind` that a change affects: the object itself, or its controller before and after."""
    if change.kind is kind:
        yield change.key
        return
    before = change.old
    refs = change.object["metadata"].get("ownerReferences")
    if refs:
        yield from _controller_key(change.object, kind)
    if before is not None and before["metadata"].get("ownerReferences") is not refs:
        yield from _controller_key(before, kind)


def _controller_key(raw: Raw, kind: Kind) -> Iterator[Key]:
    found = controller_of(raw)
    if found is not None and found["kind"] == kind.kind and found["apiVersion"] == kind.api_version:
        yield Key(kind, raw["metadata"].get("namespace", ""), found["name"])


# Creating and deleting


def child(
    kind: Kind,
    body: Raw,
    owner_kind: Kind,
    owner: Raw,
    *,
    name: str = "",
    prefix: str = "",
    labels: Mapping[str, str] = _NONE,
    annotations: Mapping[str, str] = _NONE,
    finalizers: Sequence[str] = (),
) -> Create:
    """An object controlled by `owner`, in its namespace. `prefix` is its generateName.

    Labels and annotations of `body` are kept; the arguments take precedence.
    """
    given: Raw = body.get("metadata") or {}
    meta: Raw = {key: text for key, text in (("name", name), ("generateName", prefix)) if text}
    meta["namespace"] = owner["metadata"].get("namespace", "")
    for part, more in (("labels", labels), ("annotations", annotations)):
        together = {**(given.get(part) or _NONE), **more}
        if together:
            meta[part] = together
    meta["ownerReferences"] = [owner_reference(owner_kind, owner)]
    if held := [*(given.get("finalizers") or ()), *finalizers]:
        meta["finalizers"] = held
    return Create(kind, {**body, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta})


def pod(
    template: Raw,
    owner_kind: Kind,
    owner: Raw,
    *,
    name: str = "",
    prefix: str = "",
    labels: Mapping[str, str] = _NONE,
    annotations: Mapping[str, str] = _NONE,
    finalizers: Sequence[str] = (),
    spec: Mapping[str, Any] = _NONE,
) -> Create:
    """A pod from a template (`metadata` and `spec`), controlled by `owner`; `spec` replaces parts of its spec."""
    body = {"metadata": template.get("metadata"), "spec": {**(template.get("spec") or _NONE), **spec}}
    return child(
        POD,
        body,
        owner_kind,
        owner,
        name=name,
        prefix=prefix,
        labels=labels,
        annotations=annotations,
        finalizers=finalizers,
    )


def with_env(containers: Sequence[Raw], env: Sequence[Raw], *, first: bool = False) -> list[Raw]:
    """The containers with these variables added; a variable that a container has already is kept."""
    result = []
    for container in containers:
        has = container.get("env") or []
        names = {one["name"] for one in has}
        new = [one for one in env if one["name"] not in names]
        result.append({**container, "env": [*new, *has] if first else [*has, *new]})
    return result


def deletion(kind: Kind, raw: Raw) -> Iterator[Delete]:
    """Delete this object, by uid, unless it is already terminating."""
    if not is_deleting(raw):
        yield Delete(key_of(kind, raw), uid=raw["metadata"]["uid"])


# Inspecting objects


def is_deleting(raw: Raw) -> bool:
    return "deletionTimestamp" in raw["metadata"]


def phase(pod: Raw) -> str:
    return (pod.get("status") or _NONE).get("phase") or "Pending"


def is_ended(pod: Raw) -> bool:
    return phase(pod) in ENDED


def is_active(pod: Raw) -> bool:
    """Whether the pod has neither ended nor is terminating."""
    return "deletionTimestamp" not in pod["metadata"] and phase(pod) not in ENDED


def condition(raw: Raw, kind: str) -> Raw | None:
    """A condition of an object by its type."""
    for one in (raw.get("status") or _NONE).get("conditions") or ():
        if one.get("type") == kind:
            return one  # type: ignore[no-any-return]
    return None


def holds(raw: Raw, kind: str) -> bool:
    """Whether a condition is True."""
    found = condition(raw, kind)
    return found is not None and found["status"] == "True"


def is_ready(pod: Raw) -> bool:
    return holds(pod, "Ready")


def ready_since(pod: Raw) -> float | None:
    """When the pod became ready; None if it is not."""
    found = condition(pod, "Ready")
    return parse(found["lastTransitionTime"]) if found is not None and found["status"] == "True" else None


def available_at(pod: Raw, min_ready: float) -> float | None:
    """When a pod counts as available: after it has been ready for `min_ready` seconds. None if it is not ready."""
    since = ready_since(pod)
    return None if since is None else since + min_ready


def dispensable_first(pods: Iterable[Raw], rank: Callable[[Raw], int] = lambda _: 0) -> list[Raw]:
    """Pods in order of deletion: without a node, not running, not ready, with a high rank, the youngest first."""
    youngest_first = sorted(pods, key=lambda one: str(one["metadata"].get("creationTimestamp")), reverse=True)
    return sorted(
        youngest_first,
        key=lambda one: (bool(one["spec"].get("nodeName")), phase(one) == "Running", is_ready(one), -rank(one)),
    )


class PodCounts(NamedTuple):
    """Counts of pods by state. `active` ones have neither ended nor are terminating; `ready` ones are among them."""

    active: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0


def tally(pods: Iterable[Raw]) -> PodCounts:
    active = ready = succeeded = failed = terminating = 0
    for one in pods:
        match phase(one):
            case "Succeeded":
                succeeded += 1
            case "Failed":
                failed += 1
            case _ if is_deleting(one):
                terminating += 1
            case _:
                active += 1
                ready += is_ready(one)
    return PodCounts(active, ready, succeeded, failed, terminating)


# Writing the status


def with_condition(
    conditions: Sequence[Raw] | None,
    kind: str,
    status: bool | str,
    reason: str,
    message: str,
    now: float,
    **more: Any,
) -> list[Raw]:
    """The conditions with this one set; its transition time changes only if its status does.

    `more` are further fields of the condition: `observedGeneration=2`, `lastProbeTime=…`.
    """
    text = status if isinstance(status, str) else str(status)
    new = {"type": kind, "status": text, "reason": reason, "message": message, **more}
    new["lastTransitionTime"] = stamp(now)
    result = list(conditions or ())
    for place, one in enumerate(result):
        if one["type"] == kind:
            if one["status"] == text:
                new["lastTransitionTime"] = one.get("lastTransitionTime") or new["lastTransitionTime"]
            result[place] = new
            return result
    return [*result, new]


def status_write(kind: Kind, raw: Raw, status: Raw) -> Iterator[Update]:
    """Write this status; nothing if the object has it already."""
    if (raw.get("status") or _NONE) != status:
        yield Update(kind, {**raw, "status": status}, "status")


def event(
    kind: Kind,
    about: Raw,
    reason: str,
    message: str,
    now: float,
    *,
    by: str,
    warning: bool = False,
) -> Create:
    """An Event about an object, reported by the component of that name."""
    meta = about["metadata"]
    namespace = meta.get("namespace", "")
    involved = {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "name": meta["name"],
        "uid": meta["uid"],
        **({"namespace": namespace} if namespace else {}),
    }
    at = stamp(now)
    return Create(
        EVENT,
        {
            "metadata": {"generateName": f"{meta['name']}.", "namespace": namespace or "default"},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": {"component": by},
            "reportingComponent": by,
            "reportingInstance": "",
            "type": "Warning" if warning else "Normal",
            "count": 1,
            "firstTimestamp": at,
            "lastTimestamp": at,
            "eventTime": None,
        },
    )


# Names and numbers


def fingerprint(value: object, length: int = 10) -> str:
    """A short hash of a value, of letters that form no words, as in names of ReplicaSets."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:12], "big")
    letters = []
    for _ in range(length):
        number, at = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[at])
    return "".join(letters)


def number(value: Any, default: int) -> int:
    """A whole number of a spec; the default if it is null or absent."""
    return default if value is None else int(value)


def part_of(value: Any, whole: int, *, up: bool) -> int:
    """A count or a percentage of `whole`: part_of("25%", 10, up=True) == 3."""
    if isinstance(value, str) and value.endswith("%"):
        hundredths = whole * int(value[:-1])
        return -(-hundredths // 100) if up else hundredths // 100
    return int(value)
