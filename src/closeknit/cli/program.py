"""The name by which the program was called: `closeknit`, or `kubectl closeknit` as a kubectl plug-in.

A plug-in works on kubectl's current context. Called as `closeknit`, the embedded host is the default, so that an
experiment never changes a shared cluster by accident.
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
