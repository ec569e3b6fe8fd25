"""Commands that users are told to type next: on the cluster that they asked, so by the options that they gave.

What there is to say may come from far down, and after the command has ended; so the options are kept here from when
they are read until the next command begins.
"""

from __future__ import annotations

import shlex
from contextvars import ContextVar

import click

from .program import program

_GIVEN: ContextVar[dict[str, str]] = ContextVar("given")


def forget() -> None:
    """Another command begins."""
    _GIVEN.set({})


def remember(_context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """The callback of options that say which cluster it is."""
    if value:
        _GIVEN.set({**_GIVEN.get({}), option.opts[-1]: value})
    return value


def hint(*words: str) -> str:
    """hint("describe", "job", "train") == "closeknit describe job train --data ./mine"."""
    options = (word for option in _GIVEN.get({}).items() for word in option)
    return " ".join([program(), *map(shlex.quote, [*words, *options])])
