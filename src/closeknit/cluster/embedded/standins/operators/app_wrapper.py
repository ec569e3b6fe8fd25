"""The AppWrapper operator: creates the objects of the components, and finishes when those that run to completion have.

    "" ──▶ Suspended ──▶ Running ──▶ Succeeded
               ▲           │  └────▶ Failed, and its objects are deleted
               └Suspending◀┘

The descriptor of an object's kind reads its state. Grace periods and resets are left out: a failed object fails the
AppWrapper at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .....dialects.field import Field
from .....dialects.kueue.jobs.kinds import JOB_KINDS, LIVE
from .....dialects.kueue.jobs.kinds.app_wrapper import APP_WRAPPER, DEPLOYED, QUOTA, READY, put_down, wrapped
from .....dialects.kueue.jobs.raw import Raw, at, each, items, mapping, number, put
from ....kinds import Kind, kind_of
from ....port import Create
from ...loop import Step
from ...store import Store
from ..children import child, deletion, is_controlled, status_write
from ..conditions import Conditions
from ..controller import Controller, Observation

KIND = APP_WRAPPER.served
COMPONENT = "appwrapper-controller"
LABEL = "workload.codeflare.dev/appwrapper"
SUSPENDED, SUSPENDING, RUNNING, SUCCEEDED, FAILED = "Suspended", "Suspending", "Running", "Succeeded", "Failed"


class AppWrappers(Controller):
    kind, watches = KIND, tuple(one.served for one in JOB_KINDS if one.hosted)

    def observe(self, store: Store, owner: Raw, now: float) -> Observation:
        observed = ObservedAppWrapper(store, owner, now)
        return Observation(len(observed.parts), observed.steps())


STANDIN = AppWrappers


class Part(NamedTuple):
    """A component, the kind of its object, and that object if it exists."""

    component: Raw
    kind: Kind | None
    made: Raw | None


class ObservedAppWrapper:
    """The observed state of an AppWrapper and its objects."""

    def __init__(self, store: Store, owner: Raw, now: float) -> None:
        self.store, self.owner = store, owner
        self.phase = at(owner, "status", "phase") or ""
        self.conditions = Conditions(KIND, owner, now, COMPONENT)
        self.parts = [self._part(one) for one in each(owner, "spec", "components")]

    def _part(self, component: Raw) -> Part:
        template = mapping(component, "template")
        kind = kind_of(str(template.get("apiVersion")), str(template.get("kind")))
        place = self.owner["metadata"]["namespace"], str(at(template, "metadata", "name"))
        made = None if kind is None else self.store.find(kind, *place)
        return Part(component, kind, made if made is not None and is_controlled(made, self.owner) else None)

    def steps(self) -> Iterator[Step]:
        if self.phase == FAILED:
            yield from self._emptied(FAILED)
        elif self.phase != SUCCEEDED and self.owner["spec"].get("suspend"):
            yield from self._emptied(SUSPENDED)
        elif self.phase != SUCCEEDED:
            yield from self._running()
        status = self.conditions.into({**mapping(self.owner, "status"), "phase": self.phase})
        yield from status_write(KIND, self.owner, status)

    def _emptied(self, phase: str) -> Iterator[Step]:
        """Delete all objects; the phase is reached when they are gone."""
        there = [one for one in self.parts if one.made is not None]
        for one in there:
            if one.kind is not None and one.made is not None:
                yield from deletion(one.kind, one.made)
        self._set(READY, False)
        if not there:
            self._set(DEPLOYED, False)
            self._set(QUOTA, False)
        self.phase = phase if phase == FAILED or not there else SUSPENDING

    def _running(self) -> Iterator[Step]:
        if any(one.kind is None for one in self.parts):
            self.phase = FAILED
            return
        self.phase = RUNNING
        self._set(QUOTA, True)
        self._set(DEPLOYED, True)
        for one in self.parts:
            if one.kind is not None and one.made is None:
                yield self._new(one.kind, one.component)
        ends = [_ended(one.made) for one in self.parts if one.made is not None and _runs(one.made)]
        self._set(READY, all(one.made is not None and _is_ready(one.made) for one in self.parts))
        if False in ends:
            self.phase = FAILED
        elif ends and all(ends) and len(ends) == sum(_runs(one.component["template"]) for one in self.parts):
            self.phase = SUCCEEDED
            self._set(QUOTA, False)

    def _set(self, kind: str, status: bool) -> None:
        """Set a condition; one that does not exist is not set to False."""
        if status or self.conditions.find(kind) is not None:
            self.conditions.set(kind, status, self.phase or SUSPENDED, "")

    def _new(self, kind: Kind, component: Raw) -> Create:
        template = component["template"]
        for one, info in zip(wrapped(Field.root(component)), items(component, "podSetInfos"), strict=False):
            template = put_down(template, one.path, _with_info(one.template.mapping(), info))
        name = self.owner["metadata"]["name"]
        return child(kind, template, KIND, self.owner, name=template["metadata"]["name"], labels={LABEL: name})


def _with_info(template: Raw, info: Raw) -> Raw:
    for part, keys in (("metadata", ("annotations", "labels")), ("spec", ("nodeSelector",))):
        for key in keys:
            if info.get(key):
                template = put(template, (part, key), {**mapping(template, part, key), **info[key]})
    for key in ("tolerations", "schedulingGates"):
        if info.get(key):
            template = put(template, ("spec", key), [*items(template, "spec", key), *info[key]])
    return template


def _key(raw: Raw) -> tuple[str, str]:
    return str(raw.get("apiVersion")).rpartition("/")[0], str(raw.get("kind"))


def _runs(raw: Raw) -> bool:
    """Whether the object is of a kind that runs to completion."""
    return _key(raw) in LIVE


def _ended(raw: Raw) -> bool | None:
    """Whether the object has succeeded; None while it runs."""
    end = LIVE[_key(raw)].finished(raw)
    return None if end is None else end.success


def _is_ready(raw: Raw) -> bool:
    if _runs(raw):
        return LIVE[_key(raw)].pods_ready(raw)
    wanted = at(raw, "spec", "replicas")
    return wanted is None or number(raw, "status", "readyReplicas") >= wanted
