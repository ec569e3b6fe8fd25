"""The rules of one kind as a value: defaults, what is set at creation, and validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ....dialects.field import Field
from ...port import Raw
from ..store import Store
from .causes import Causes
from .names import NameForm, subdomain
from .settings import AdmissionSettings


class Making(NamedTuple):
    """The context of a creation; `trusted`: one of the host's own writers creates the object."""

    store: Store
    settings: AdmissionSettings
    trusted: bool


def _same(raw: Raw) -> Raw:
    return raw


def _as_it_is(_making: Making, raw: Raw) -> Raw:
    return raw


def _nothing(*_: Any) -> None:
    """No rule."""


class KindRule(NamedTuple):
    """The functions for one kind: `fill` runs on every write, `begin` on creation, `prepare` on updates.

    `check` validates an object by itself, `change` an update of it, `status` an update of its status. `fill_status`
    runs on every write of a status. `change_validates_all`: `change` validates the whole new object, and may tolerate
    values that were already invalid.
    """

    fill: Callable[[Raw], Raw] = _same
    begin: Callable[[Making, Raw], Raw] = _as_it_is
    prepare: Callable[[AdmissionSettings, Raw, Raw], Raw] | None = None
    check: Callable[[Field, Causes], None] = _nothing
    change: Callable[[Field, Field, Causes], None] = _nothing
    status: Callable[[Field, Field, Causes], None] | None = None
    fill_status: Callable[[Raw, Raw], Raw] | None = None
    name: NameForm = subdomain
    change_validates_all: bool = False


IMMUTABLE = "field is immutable"


def unchanged(old: Field, new: Field, causes: Causes, *keys: str) -> None:
    """Check that these fields did not change."""
    for key in keys:
        if old.at(key).value != new.at(key).value:
            causes.invalid(new.at(key), IMMUTABLE)


def unexchanged(old: Field, new: Field, causes: Causes, *keys: str) -> None:
    """Check that these fields did not change where both have them: rules of custom kinds allow setting and removing."""
    unchanged(old, new, causes, *(key for key in keys if old.at(key).given and new.at(key).given))
