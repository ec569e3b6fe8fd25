"""Suggested commands in messages, with the options that select the same cluster as the current command.

A message may be built deep in the code or after the command has ended, so the options are stored here from the time
they are parsed until the next command starts.
"""

from __future__ import annotations

import shlex
from contextvars import ContextVar

import click

from .program import program

_GIVEN: ContextVar[dict[str, str]] = ContextVar("given")


def forget() -> None:
    """Clear the options of the previous command."""
    _GIVEN.set({})


def remember(_context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Store an option that selects the cluster; a click callback."""
    if value:
        _GIVEN.set({**_GIVEN.get({}), option.opts[-1]: value})
    return value


def hint(*words: str) -> str:
    """hint("describe", "job", "train") == "closeknit describe job train --data ./mine"."""
    options = (word for option in _GIVEN.get({}).items() for word in option)
    return " ".join([program(), *map(shlex.quote, [*words, *options])])
