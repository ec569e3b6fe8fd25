"""Query parameters, checked as an API server checks them; unknown ones are ignored."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeVar, cast, get_args
from urllib.parse import parse_qs

from ....model.shape import whole_number
from ...errors import BadRequest, Cause, Invalid
from ...port import Propagation, Raw
from ..store import WriteOptions

Validation = Literal["Strict", "Warn", "Ignore"]
LONGEST_MANAGER = 128

T = TypeVar("T")
_NO = ("false", "0")


class QueryString:
    """The first value of every parameter."""

    def __init__(self, text: str) -> None:
        readable = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        self._values = {name: values[0] for name, values in parse_qs(readable, keep_blank_values=True).items()}

    def text(self, name: str) -> str:
        return self._values.get(name, "")

    def flag(self, name: str) -> bool:
        """Whether the flag is set: to anything but false and 0."""
        return name in self._values and self._values[name] not in _NO

    def has(self, name: str) -> bool:
        return name in self._values

    def number(self, name: str) -> int | None:
        text = self.text(name)
        if not text:
            return None
        number = whole_number(text)
        if number is None:
            raise BadRequest(f'{name}: "{text}" is not a whole number')
        return number

    def version(self) -> int | None:
        """The `resourceVersion`; None if there is none."""
        text = self.text("resourceVersion")
        if text and not (text.isascii() and text.isdigit() and len(text) < 20):
            raise BadRequest(f'invalid resource version: "{text}" is not a number')
        return int(text) if text else None


def invalid(options: str, field: str, message: str, reason: str) -> Invalid:
    """The error for an invalid parameter, as an API server words it."""
    cause = Cause(field, message, reason)
    text = f'{options}.meta.k8s.io "" is invalid: {field}: {message}'
    return Invalid(text, group="meta.k8s.io", kind=options, causes=[cause])


def not_supported(options: str, field: str, value: object, *supported: str) -> Invalid:
    known = ", ".join(f'"{one}"' for one in supported)
    return invalid(options, field, f'Unsupported value: "{value}": supported values: {known}', "FieldValueNotSupported")


def writing(query: QueryString, options: str, user_agent: str, is_apply: bool = False) -> WriteOptions:
    """The write options of a request. Without a `fieldManager` the User-Agent names the manager."""
    validation = query.text("fieldValidation") or "Warn"
    if validation not in get_args(Validation):
        raise not_supported(options, "fieldValidation", validation, "", "Ignore", "Strict", "Warn")
    if query.has("force") and options == "PatchOptions" and not is_apply:
        raise invalid(options, "force", "Forbidden: may not be specified for non-apply patch", "FieldValueForbidden")
    manager = query.text("fieldManager")
    if is_apply and not manager:
        raise invalid(options, "fieldManager", "Required value: is required for apply patch", "FieldValueRequired")
    if len(manager.encode()) > LONGEST_MANAGER:
        message = f"Too long: may not be more than {LONGEST_MANAGER} bytes"
        raise invalid(options, "fieldManager", message, "FieldValueTooLong")
    if not manager.isprintable():
        raise invalid(options, "fieldManager", f"Invalid value: {manager!r}: not printable", "FieldValueInvalid")
    return WriteOptions(
        manager=manager or _named_by(user_agent),
        trusted=False,
        dry_run=_is_dry(query, options),
        force=query.flag("force"),
        validation=cast(Validation, validation),
        warnings=[],
    )


def _named_by(user_agent: str) -> str:
    """_named_by("kubectl/v1.36.3 (linux/amd64)") == "kubectl"."""
    name = user_agent.partition("/")[0].encode("ascii", "ignore").decode()
    return "".join(filter(str.isprintable, name))[:LONGEST_MANAGER] or "unknown"


def _is_dry(query: QueryString, options: str) -> bool:
    dry = query.text("dryRun")
    if dry not in ("", "All"):
        raise not_supported(options, "dryRun", dry, "All")
    return dry == "All"


class Deleting(NamedTuple):
    """The options of a deletion; `propagation` is None where the client did not set it."""

    propagation: Propagation | None = None
    grace: int | None = None
    uid: str = ""
    version: str = ""
    is_dry: bool = False


def deleting(query: QueryString, body: Raw | None) -> Deleting:
    """The options of a deletion: from DeleteOptions, or from the query where there are none."""
    given = body or {}
    grace = _typed(given, "gracePeriodSeconds", int)
    conditions = _typed(given, "preconditions", dict) or {}
    dry = _typed(given, "dryRun", list) or []
    if any(one != "All" for one in dry):
        raise not_supported("DeleteOptions", "dryRun", dry, "All")
    return Deleting(
        propagation=_propagation(query, given),
        grace=query.number("gracePeriodSeconds") if grace is None else grace,
        uid=_typed(conditions, "uid", str) or "",
        version=_typed(conditions, "resourceVersion", str) or "",
        is_dry=bool(dry) or _is_dry(query, "DeleteOptions"),
    )


def _propagation(query: QueryString, given: Raw) -> Propagation | None:
    policy = _typed(given, "propagationPolicy", str) or query.text("propagationPolicy")
    orphan = _typed(given, "orphanDependents", bool)
    if orphan is None and query.text("orphanDependents"):
        orphan = query.flag("orphanDependents")
    if policy and orphan is not None:
        message = "Invalid value: orphanDependents and deletionPropagation cannot be both set"
        raise invalid("DeleteOptions", "propagationPolicy", message, "FieldValueInvalid")
    if policy and policy not in get_args(Propagation):
        raise not_supported("DeleteOptions", "propagationPolicy", policy, *get_args(Propagation))
    if orphan is not None:
        return "Orphan" if orphan else "Background"
    return cast(Propagation, policy) if policy else None


def _typed(given: Raw, field: str, form: type[T]) -> T | None:
    value = given.get(field)
    if value is None:
        return None
    if not isinstance(value, form) or (form is int and isinstance(value, bool)):
        raise BadRequest(f"DeleteOptions cannot be read: {field} is not of the right type")
    return value
