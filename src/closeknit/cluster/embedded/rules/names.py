"""The forms of object names: each kind uses one of a few."""

from __future__ import annotations

import re
from collections.abc import Callable

from ....model.label_names import MAX_NAME, MAX_PREFIX, is_subdomain

NameForm = Callable[[str], str]
"""The problem with a name; empty if it is valid."""

TOO_LONG = "has more than"
"""The beginning of the message about a name that is too long."""

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_HOST_LABEL = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_ENDS = "with a letter or digit at both ends"


def subdomain(name: str) -> str:
    """`train-1.a`: most kinds."""
    if len(name) > MAX_PREFIX:
        return f"{TOO_LONG} {MAX_PREFIX} characters"
    return "" if is_subdomain(name) else f"use lower-case letters, digits, '-' and '.', {_ENDS}"


def label(name: str) -> str:
    """`train-1`: namespaces, and names that become labels of other objects."""
    if len(name) > MAX_NAME:
        return f"{TOO_LONG} {MAX_NAME} characters"
    return "" if _LABEL.fullmatch(name) else f"use lower-case letters, digits and '-', {_ENDS}"


def host_label(name: str) -> str:
    """`train-1`, but not `1-train`: names that become host names."""
    if len(name) > MAX_NAME:
        return f"{TOO_LONG} {MAX_NAME} characters"
    return "" if _HOST_LABEL.fullmatch(name) else "use lower-case letters, digits and '-', beginning with a letter"


def anything(_name: str) -> str:
    """Any name is valid."""
    return ""


def at_most(most: int, form: NameForm = subdomain) -> NameForm:
    """A form with a shorter limit, for names from which longer ones are derived."""
    return lambda name: f"{TOO_LONG} {most} characters" if len(name) > most else form(name)
