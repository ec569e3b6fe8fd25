"""The verbs of the API: get, list, create, update, patch, delete, and those of subresources.

Everything here is synchronous: when a function returns, the store has carried out the request or refused it. Waiting
for clients and for commits is the server's part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...errors import BadRequest, Cause, Forbidden, Invalid, MethodNotAllowed, NotFound, UnsupportedMediaType
from ...kinds import (
    BUDGET,
    JOB,
    LEASE,
    NAMESPACE,
    NODE,
    POD,
    POD_TEMPLATE,
    RUNTIME_CLASS,
    SERVICE,
    SERVICE_ACCOUNT,
    STORAGE_CLASS,
    VOLUME,
    VOLUME_CLAIM,
    Kind,
)
from ...port import EvictPod, Key, PatchForm, Propagation, Raw
from .. import patching
from ..rules.leaving import why_it_stays
from ..store import Store, WriteOptions
from . import bodies, discovery, listing, scaling
from .addresses import NOT_ALLOWED, NOT_SERVED, ResourcePath
from .checking import check_types, checked
from .listing import Page
from .queries import Deleting, QueryString, deleting, writing
from .selectors import Selection, selection

PATCHES: dict[str, PatchForm] = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}

_RETURNED = (POD, POD_TEMPLATE, SERVICE, SERVICE_ACCOUNT, VOLUME_CLAIM, VOLUME, STORAGE_CLASS)
"""Deleting one of these returns the object; deleting another returns a Status."""
_VERSIONED = (LEASE, BUDGET, RUNTIME_CLASS)
"""An update of one of these, or of a custom kind, has to carry a resourceVersion."""
_FOR_EVER = ("default", "kube-system", "kube-public")
_NOTHING_RUNS = ("log", "exec", "attach", "portforward", "proxy", "ephemeralcontainers")


class ApiRequest(NamedTuple):
    """The parts of a request that matter here."""

    method: str
    query: QueryString
    agent: str = ""
    media: str = bodies.JSON
    data: bytes = b""


class Reply(NamedTuple):
    """A response; `kind` is None where the content is sent unchanged, regardless of the requested form."""

    content: Raw | Page
    kind: Kind | None = None
    code: int = 200
    warnings: tuple[str, ...] = ()


Verb = Callable[[ResourcePath, ApiRequest], Reply]


def selected(at: ResourcePath, query: QueryString) -> Selection:
    return selection(at.kind, at.namespace, query.text("labelSelector"), query.text("fieldSelector"))


class Verbs:
    def __init__(self, store: Store) -> None:
        self.store = store

    def find(self, method: str, at: ResourcePath) -> Verb:
        """The verb for a method at an address; raises NotFound or MethodNotAllowed."""
        kind, parts = at.kind, {part.name for part in discovery.parts(at.kind)}
        found: dict[str, Verb]
        if at.part in parts:
            found = self._of_part(at.part)
        elif not at.name:
            found = {"GET": self.list, "POST": self.create, "DELETE": self.delete_all}
            if at.is_across:
                found = {"GET": self.list}
            elif kind is NAMESPACE:
                del found["DELETE"]
        elif not at.part:
            found = {"GET": self.get, "PUT": self.update, "PATCH": self.patch, "DELETE": self.delete}
        elif kind is POD and at.part in _NOTHING_RUNS:
            found = dict.fromkeys(("GET", "POST"), self.nothing_runs)
        else:
            raise NotFound(NOT_SERVED)
        if method not in found:
            raise MethodNotAllowed(NOT_ALLOWED)
        return found[method]

    def _of_part(self, part: str) -> dict[str, Verb]:
        match part:
            case "status":
                return {"GET": self.get, "PUT": self.update, "PATCH": self.patch}
            case "scale":
                return {"GET": self.get_scale, "PUT": self.update_scale, "PATCH": self.patch_scale}
            case "finalize":
                return {"PUT": self.update}
            case "binding":
                return {"POST": self.bind}
            case _:
                return {"POST": self.evict}

    # Reading

    def get(self, at: ResourcePath, sent: ApiRequest) -> Reply:
        sent.query.version()
        return Reply(self.store.get(at.kind, at.namespace, at.name), at.kind)

    def list(self, at: ResourcePath, sent: ApiRequest) -> Reply:
        return Reply(listing.page(self.store, selected(at, sent.query), sent.query), at.kind)

    def nothing_runs(self, at: ResourcePath, sent: ApiRequest) -> Reply:
        self.store.get(POD, at.namespace, at.name)
        raise BadRequest(f"pods here are simulated: nothing runs in {at.name}, so there is no {at.part}")

    # Creating and changing

    def create(self, at: ResourcePath, sent: ApiRequest) -> Reply:
        options = writing(sent.query, "CreateOptions", sent.agent)
        raw = bodies.object_of(at.kind, bodies.tree(sent.data, sent.media), at.namespace)
        if raw["metadata"].get("resourceVersion"):
            raise BadRequest("resourceVersion should not be set on objects to be created")
        raw = checked(at.kind, raw, options, repeated=_repeated(sent, options))
        return _done(self.store.create(at.kind, raw, options), at, options, 201)

    def update(self, at: ResourcePath, sent: ApiRequest) -> Reply:
        options = writing(sent.query, "UpdateOptions", sent.agent)
        raw = bodies.object_of(at.kind, bodies.tree(sent.data, sent.media), at.namespace, at.name)
        raw = checked(at.kind, raw, options, at.part, _repeated(sent, options))
        if not raw["metadata"].get("resourceVersion") and (at.kind in _VERSIONED or not at.kind.is_built_in):
            raise _needs_version(at)
        return _done(self.store.update(at.kind, raw, at.part, options), at, options)

    def patch(self, at: ResourcePath, sent: ApiRequest) -> Reply:
        form, options, body = self._patch(sent)
        if form == "apply":
            return self._apply(at, body, options)
        old = self.store.get(at.kind, at.namespace, at.name)
        new = patching.patched(at.kind, form, old, body)
        new = checked(at.kind, new, options, at.part, _repeated(sent, options), by_patch=True)
        return _done(self.store.update(at.kind, new, at.part, options), at, options)

    def _patch(self, sent: ApiRequest) -> tuple[PatchForm, WriteOptions, Any]:
        form = PATCHES.get(sent.media)
        if form is None:
            raise UnsupportedMediaType(f"a patch is one of {', '.join(PATCHES)}, not {sent.media}")
        options = writing(sent.query, "PatchOptions", sent.agent, form == "apply")
        return form, options, bodies.yaml_tree(sent.data) if form == "apply" else bodies.json_tree(sent.data)

    def _apply(self, at: ResourcePath, body: Any, options: WriteOptions) -> Reply:
        meta = body.get("metadata") if isinstance(body, dict) else None
        if isinstance(meta, dict | None) and isinstance(body, dict):
            body = {**body, "metadata": {"name": at.name, **(meta or {})}}
            if (meta or {}).get("managedFields"):
                raise BadRequest("metadata.managedFields must be nil")
        raw = bodies.object_of(at.kind, body, at.namespace, at.name)
        if not raw.get("kind") or not raw.get("apiVersion"):
            raise BadRequest("an applied object has to have a kind and an apiVersion")
        check_types(at.kind, raw, at.part, is_partial=True)
        is_there = self.store.find(at.kind, at.namespace, at.name) is not None
        made = self.store.patch(Key(at.kind, at.namespace, at.name), raw, "apply", at.part, options)
        return _done(made, at, options, 200 if is_there else 201)

    # Deleting

    def delete(self, at: ResourcePath, sent: ApiRequest) -> Reply:
        how, options = self._deleting(sent)
        if at.kind is NAMESPACE and at.name in _FOR_EVER:
            text = f'namespaces "{at.name}" is forbidden: this namespace may not be deleted'
            raise Forbidden(text, kind="namespaces", name=at.name)
        key = Key(at.kind, at.namespace, at.name)
        gone = self.store.delete(
            key, how.uid, how.version, _propagation(at, how), grace=_grace(how.grace), options=options
        )
        is_held = bool(gone["metadata"].get("finalizers")) or (
            not options.dry_run and self.store.find(at.kind, at.namespace, at.name) is not None
        )
        if not is_held and at.kind not in _RETURNED:
            return _is_gone(at, gone)
        return Reply(gone, at.kind, warnings=self._why_they_stay(at, [gone] if is_held else []))

    def delete_all(self, at: ResourcePath, sent: ApiRequest) -> Reply:
        how, options = self._deleting(sent)
        propagation, grace = _propagation(at, how), _grace(how.grace)
        gone = []
        for raw in listing.present(self.store, selected(at, sent.query)):
            key = Key(at.kind, at.namespace, raw["metadata"]["name"])
            gone.append(self.store.delete(key, propagation=propagation, grace=grace, options=options))
        page = Page(gone, {"resourceVersion": str(self.store.version)})
        return Reply(page, at.kind, warnings=self._why_they_stay(at, gone))

    def _why_they_stay(self, at: ResourcePath, gone: Sequence[Raw]) -> tuple[str, ...]:
        return tuple(why for raw in gone if (why := why_it_stays(self.store, at.kind, raw)))

    def _deleting(self, sent: ApiRequest) -> tuple[Deleting, WriteOptions]:
        body = bodies.tree(sent.data, sent.media) if sent.data else None
        if body is not None and (not isinstance(body, dict) or body.get("kind") not in (None, "DeleteOptions")):
            raise BadRequest("the body of a deletion has to be DeleteOptions")
        how = deleting(sent.query, body)
        return how, WriteOptions(trusted=False, dry_run=how.is_dry)

    # Subresources

    def get_scale(self, at: ResourcePath, sent: ApiRequest) -> Reply:
        return Reply(scaling.scale_of(at.kind, self.store.get(at.kind, at.namespace, at.name)))

    def update_scale(self, at: ResourcePath, sent: ApiRequest) -> Reply:
        options = writing(sent.query, "UpdateOptions", sent.agent)
        return self._scale(at, bodies.tree(sent.data, sent.media), options)

    def patch_scale(self, at: ResourcePath, sent: ApiRequest) -> Reply:
        form, options, body = self._patch(sent)
        old = scaling.scale_of(at.kind, self.store.get(at.kind, at.namespace, at.name))
        if form == "json":
            return self._scale(at, patching.patched(at.kind, form, old, body), options)
        return self._scale(at, patching.merged(old, body), options)

    def _scale(self, at: ResourcePath, scale: Any, options: WriteOptions) -> Reply:
        old = self.store.get(at.kind, at.namespace, at.name)
        new = self.store.update(at.kind, scaling.scaled(at.kind, old, scale), at.part, options)
        return Reply(scaling.scale_of(at.kind, new), warnings=tuple(options.warnings))

    def bind(self, at: ResourcePath, sent: ApiRequest) -> Reply:
        options = writing(sent.query, "CreateOptions", sent.agent)
        body = bodies.tree(sent.data, sent.media)
        target, meta = _inner(body, "target"), _inner(body, "metadata")
        node, uid, name = target.get("name"), meta.get("uid") or "", meta.get("name") or at.name
        if target.get("kind", NODE.kind) not in ("", NODE.kind) or not isinstance(node, str) or not node:
            raise BadRequest("a Binding needs a target that is a Node with a name")
        if not isinstance(uid, str) or not isinstance(name, str) or name != (at.name or name):
            raise BadRequest("the name in the Binding is not that of the pod, or its uid is not a string")
        more = {"metadata": {field: _inner(meta, field) for field in ("labels", "annotations") if meta.get(field)}}
        if more["metadata"]:
            dry = WriteOptions(options.manager, trusted=False, dry_run=True)
            self._mark(at, name, more, dry)
        self.store.bind(at.namespace, name, node, uid, options)
        if more["metadata"] and not options.dry_run:
            self._mark(at, name, more, options)
        return Reply(_SUCCESS, code=201)

    def _mark(self, at: ResourcePath, name: str, more: Raw, options: WriteOptions) -> None:
        """Copy the labels and annotations of a Binding to the pod."""
        new = patching.merged(self.store.get(POD, at.namespace, name), more)
        self.store.update(POD, checked(POD, new, options, by_patch=True), options=options)

    def evict(self, at: ResourcePath, sent: ApiRequest) -> Reply:
        options = writing(sent.query, "CreateOptions", sent.agent)
        body = bodies.tree(sent.data, sent.media) if sent.data else {}
        how = deleting(sent.query, _inner(body, "deleteOptions"))
        if how.is_dry:
            options = WriteOptions(options.manager, trusted=False, dry_run=True)
        self.store.carry_out(EvictPod(at.namespace, at.name, _grace(how.grace)), options)
        return Reply(_SUCCESS, code=201)


_SUCCESS: Raw = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _done(raw: Raw, at: ResourcePath, options: WriteOptions, code: int = 200) -> Reply:
    return Reply(raw, at.kind, code, tuple(options.warnings))


def _is_gone(at: ResourcePath, gone: Raw) -> Reply:
    group = {"group": at.kind.group} if at.kind.group else {}
    details = {"name": at.name, **group, "kind": at.kind.plural, "uid": gone["metadata"]["uid"]}
    return Reply({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})


def _repeated(sent: ApiRequest, options: WriteOptions) -> list[str]:
    if options.validation == "Ignore" or sent.media != bodies.JSON:
        return []
    return bodies.repeated(sent.data)


def _needs_version(at: ResourcePath) -> Invalid:
    cause = Cause("metadata.resourceVersion", "Invalid value: 0: must be specified for an update")
    text = f'{at.kind.resource} "{at.name}" is invalid: {cause.field}: {cause.message}'
    return Invalid(text, group=at.kind.group, kind=at.kind.plural, name=at.name, causes=[cause])


def _propagation(at: ResourcePath, how: Deleting) -> Propagation:
    """The propagation policy. Jobs orphan their pods by default, as before garbage collection existed."""
    return how.propagation or ("Orphan" if at.kind is JOB else "Background")


def _grace(asked: int | None) -> int | None:
    """The grace period; a negative one counts as one second."""
    return 1 if asked is not None and asked < 0 else asked


def _inner(body: Any, field: str) -> Raw:
    inner = body.get(field) if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(inner, dict | None):
        raise BadRequest(f"the body cannot be read: {field} is not an object")
    return inner or {}
