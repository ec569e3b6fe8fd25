"""What objects may be called: each kind keeps to one of a few forms."""

from __future__ import annotations

import re
from collections.abc import Callable

from ....model.label_names import MAX_NAME, MAX_PREFIX, is_subdomain

NameForm = Callable[[str], str]
"""What is wrong with a name; empty if nothing is."""

TOO_LONG = "has more than"
"""How the sentence about a name that is too long begins."""

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_HOST_LABEL = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_ENDS = "with a letter or digit at both ends"


def subdomain(name: str) -> str:
    """`train-1.a`: most kinds."""
    if len(name) > MAX_PREFIX:
        return f"{TOO_LONG} {MAX_PREFIX} characters"
    return "" if is_subdomain(name) else f"use lower-case letters, digits, '-' and '.', {_ENDS}"


def label(name: str) -> str:
    """`train-1`: namespaces, and what becomes a label of other objects."""
    if len(name) > MAX_NAME:
        return f"{TOO_LONG} {MAX_NAME} characters"
    return "" if _LABEL.fullmatch(name) else f"use lower-case letters, digits and '-', {_ENDS}"


def host_label(name: str) -> str:
    """`train-1`, but not `1-train`: what becomes the name of a host."""
    if len(name) > MAX_NAME:
        return f"{TOO_LONG} {MAX_NAME} characters"
    return "" if _HOST_LABEL.fullmatch(name) else "use lower-case letters, digits and '-', beginning with a letter"


def anything(_name: str) -> str:
    """Nobody looks."""
    return ""


def at_most(most: int, form: NameForm = subdomain) -> NameForm:
    """A form with a shorter limit, where longer names are made from it."""
    return lambda name: f"{TOO_LONG} {most} characters" if len(name) > most else form(name)
