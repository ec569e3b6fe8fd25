"""The rules of one kind, as a value: what is filled in, what is made up at the beginning, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ....dialects.field import Field
from ...port import Raw
from ..store import Store
from .causes import Causes
from .names import NameForm, subdomain
from .settings import Settings


class Making(NamedTuple):
    """What is at hand when an object is made; `trusted` says that a writer of ours makes it."""

    store: Store
    settings: Settings
    trusted: bool


def _same(raw: Raw) -> Raw:
    return raw


def _as_it_is(_making: Making, raw: Raw) -> Raw:
    return raw


def _nothing(*_: Any) -> None:
    """No rule."""


class Rule(NamedTuple):
    """`fill` is for every write, `begin` for the first one, `prepare` for all others: it gets the old object too.

    `check` judges an object by itself. `change` judges what an update does to it, `status` what one of its status does;
    both say so of the new object. `fill_status` is for every write of a status. `change_judges_all` says that `change`
    judges the new object by itself as well: it may put up with what was wrong before.
    """

    fill: Callable[[Raw], Raw] = _same
    begin: Callable[[Making, Raw], Raw] = _as_it_is
    prepare: Callable[[Settings, Raw, Raw], Raw] | None = None
    check: Callable[[Field, Causes], None] = _nothing
    change: Callable[[Field, Field, Causes], None] = _nothing
    status: Callable[[Field, Field, Causes], None] | None = None
    fill_status: Callable[[Raw, Raw], Raw] | None = None
    name: NameForm = subdomain
    change_judges_all: bool = False


IMMUTABLE = "field is immutable"


def unchanged(old: Field, new: Field, causes: Causes, *keys: str) -> None:
    """Fields that stay as they were made."""
    for key in keys:
        if old.at(key).value != new.at(key).value:
            causes.invalid(new.at(key), IMMUTABLE)


def unexchanged(old: Field, new: Field, causes: Causes, *keys: str) -> None:
    """Fields that may be given and taken away, but not be others: rules of custom kinds compare what is there."""
    unchanged(old, new, causes, *(key for key in keys if old.at(key).given and new.at(key).given))
