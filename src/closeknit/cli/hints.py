"""Suggested commands in messages, with the options that select the same cluster as the current command.

A message may be built deep in the code or after the command has ended, so the options are stored here from the time
they are parsed until the next command starts.
"""

from __future__ import annotations

import shlex
from contextvars import ContextVar
from typing import Any

import click

from .program import program

_GIVEN: ContextVar[dict[str, tuple[str, ...]]] = ContextVar("given")
FILES = "--cluster"
TAKE_FILES = ("explain", "what-if", "queue")
"""Commands that answer from the manifests of a cluster, too."""


def forget() -> None:
    """Clear the options of the previous command."""
    _GIVEN.set({})


def remember(_context: click.Context, option: click.Parameter, value: Any) -> Any:
    """Store an option that selects the cluster; a click callback."""
    if value:
        values = value if isinstance(value, tuple) else (value,)
        _GIVEN.set({**_GIVEN.get({}), option.opts[-1]: values})
    return value


def is_on_files() -> bool:
    """Whether the current command is about manifests, so that no command on a running cluster can be advised."""
    return FILES in _GIVEN.get({})


def hint(*words: str) -> str:
    """hint("describe", "job", "train") == "closeknit describe job train --data ./mine".

    Empty for a command that changes or reads a running cluster, if the current one is about manifests.
    """
    if is_on_files() and (words[0] not in TAKE_FILES or words[1:2] in (("resume",), ("stop",))):
        return ""
    options = (word for option, values in _GIVEN.get({}).items() for value in values for word in (option, value))
    return " ".join([program(), *map(shlex.quote, [*words, *options])])
