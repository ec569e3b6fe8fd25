"""By which name we were called: `closeknit`, or `kubectl closeknit`, as a plug-in of kubectl.

A plug-in works where kubectl does, on its current context; by our own name the embedded host comes first, so that
nobody who tries something out changes a cluster that others work on.
"""

from __future__ import annotations

from contextvars import ContextVar

ALONE, PLUGIN = "closeknit", "kubectl closeknit"

_NAME: ContextVar[str] = ContextVar("program", default=ALONE)


def call_it(name: str) -> None:
    _NAME.set(name)


def program() -> str:
    return _NAME.get()


def is_plugin() -> bool:
    return program() == PLUGIN
