"""Faults: exceptions that a component of the control plane raised for one object.

A fault never ends the process. It is logged with the object, counted, and recorded as an event on the object; the
caller of the component tries again with backoff, and everything else continues. The event names the kind of the
exception only: its text may mention objects of other namespaces, and is in the log.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

from ..cluster.port import Raw
from ..model.event import Event

log = logging.getLogger(__name__)

INTERNAL_ERROR, INVALID_OBJECT = "InternalError", "InvalidObject"
REMEMBERED = 1000


class Faults:
    """`counts` has the number of faults by component."""

    def __init__(self, record: Callable[[Raw, Event, float], None]) -> None:
        self.counts: Counter[str] = Counter()
        self._record = record
        self._traced: set[tuple[str, str, str]] = set()
        """Faults whose traceback is in the log."""

    def report(self, component: object, about: Raw | None, error: Exception, now: float) -> None:
        """An exception that should never occur."""
        name, kind = type(component).__name__, type(error).__name__
        self.counts[name] += 1
        log.error("%s failed for %s: %r", name, name_of(about), error, exc_info=self._traceback(name, about, error))
        text = f"{name} failed with {kind}: the object is tried again, and the log of the controller has details"
        self._tell(about, INTERNAL_ERROR, text, now)

    def invalid(self, component: object, about: Raw, error: Exception, now: float) -> None:
        """An object that cannot be read, because it violates the schema of its kind."""
        self.counts[type(component).__name__] += 1
        log.warning("%s is invalid and is ignored: %s", name_of(about), error)
        self._tell(about, INVALID_OBJECT, f"It is invalid and is ignored: {error}", now)

    def _traceback(self, component: str, about: Raw | None, error: Exception) -> Exception | None:
        """The exception, the first time; a fault that repeats would fill the log with its traceback."""
        same = component, name_of(about), repr(error)
        if same in self._traced:
            return None
        if len(self._traced) >= REMEMBERED:
            self._traced.clear()
        self._traced.add(same)
        return error

    def _tell(self, about: Raw | None, reason: str, text: str, now: float) -> None:
        if about is None or "kind" not in about or "apiVersion" not in about:
            return
        meta = about["metadata"]
        name = "/".join(filter(None, (meta.get("namespace"), meta["name"])))
        self._record(about, Event(name, "Warning", reason, text), now)


def name_of(raw: Raw | None) -> str:
    """The kind and name of an object, as in "Pod default/a"."""
    if raw is None:
        return "no object"
    meta = raw["metadata"]
    return f"{raw.get('kind', 'object')} {'/'.join(filter(None, (meta.get('namespace'), meta.get('name'))))}"
