"""ControllerRevisions: the pod templates that a StatefulSet or DaemonSet has had, numbered."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ...kinds import CONTROLLER_REVISION, Kind
from ...port import Patch, Raw, key_of
from ..loop import Step
from ..store import Store
from .children import child, children, deletion, fingerprint


class Revisions(NamedTuple):
    """The revisions of an owner from the oldest to the newest, and the one of its present template."""

    name: str
    hash: str
    known: tuple[Raw, ...]
    writes: tuple[Step, ...]
    """What there is to write so that the present one is there and the newest."""

    def template(self, name: str, present: Raw) -> Raw:
        """The template of a revision; the present one if it is not known any more."""
        for one in self.known:
            if one["metadata"]["name"] == name:
                template: Raw = one["data"]["spec"]["template"]
                return {key: value for key, value in template.items() if key != "$patch"}
        return present

    def forget(self, used: Collection[str], limit: int) -> Iterator[Step]:
        """Those that nobody uses go, beyond so many."""
        idle = [one for one in self.known if one["metadata"]["name"] not in {*used, self.name}]
        for one in idle[: max(0, len(idle) - limit)]:
            yield from deletion(CONTROLLER_REVISION, one)


def revisions(store: Store, kind: Kind, owner: Raw, label: str, annotations: dict[str, str] | None = None) -> Revisions:
    """`label` is what the hash is called on the revisions of this kind."""
    known = sorted(
        children(store, owner, CONTROLLER_REVISION), key=lambda one: (one["revision"], one["metadata"]["name"])
    )
    template = owner["spec"]["template"]
    data = {"spec": {"template": {**template, "$patch": "replace"}}}
    number = known[-1]["revision"] + 1 if known else 1
    found = next((one for one in known if one["data"] == data), None)
    if found is None:
        text = fingerprint(template)
        name = f"{owner['metadata']['name']}-{text}"
        labels = {**((template.get("metadata") or {}).get("labels") or {}), label: text}
        new = child(
            CONTROLLER_REVISION,
            {"data": data, "revision": number},
            kind,
            owner,
            name=name,
            labels=labels,
            annotations=annotations or {},
        )
        return Revisions(name, text, tuple(known), (new,))
    name, text = found["metadata"]["name"], found["metadata"]["labels"][label]
    if found is known[-1]:
        return Revisions(name, text, tuple(known), ())
    return Revisions(name, text, tuple(known), (Patch(key_of(CONTROLLER_REVISION, found), {"revision": number}),))
