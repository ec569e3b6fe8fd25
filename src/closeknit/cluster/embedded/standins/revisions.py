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
    """The revisions of an owner from the oldest to the newest, and that of its current template."""

    name: str
    hash: str
    known: tuple[Raw, ...]
    writes: tuple[Step, ...]
    """The writes that make the current revision the newest."""

    def template(self, name: str, present: Raw) -> Raw:
        """The template of a revision; the current one if the revision is gone."""
        for one in self.known:
            if one["metadata"]["name"] == name:
                template: Raw = one["data"]["spec"]["template"]
                return {key: value for key, value in template.items() if key != "$patch"}
        return present

    def forget(self, used: Collection[str], limit: int) -> Iterator[Step]:
        """Delete unused revisions beyond the limit."""
        idle = [one for one in self.known if one["metadata"]["name"] not in {*used, self.name}]
        for one in idle[: max(0, len(idle) - limit)]:
            yield from deletion(CONTROLLER_REVISION, one)


def revisions(store: Store, kind: Kind, owner: Raw, label: str, annotations: dict[str, str] | None = None) -> Revisions:
    """The revisions of an owner; `label` is the key of the hash label for its kind."""
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
