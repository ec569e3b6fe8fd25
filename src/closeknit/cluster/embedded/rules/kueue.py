"""Kueue's own kinds: the dialect has their defaults and rules; here its mistakes become causes."""

from __future__ import annotations

from ....dialects.field import Field
from ....dialects.kueue.objects import with_defaults
from ....dialects.kueue.objects.rules import CREATE_CHECKS, check_update
from ...port import Raw
from .causes import Causes
from .rule import KindRule, Making


def _begun(making: Making, raw: Raw) -> Raw:
    """Done at creation only: add a finalizer, and drop what the gates do not allow."""
    return with_defaults(raw, making.settings.gates)


def _check(raw: Field, _causes: Causes) -> None:
    check = CREATE_CHECKS.get(raw.at("kind").text())
    if check is not None:
        check(raw)


def _check_change(old: Field, new: Field, _causes: Causes) -> None:
    check_update(old, new)


KUEUE_RULE = KindRule(
    with_defaults, _begun, check=_check, change=_check_change, status=_check_change, change_validates_all=True
)
FLAVOR_RULE = KindRule(begin=_begun, check=_check, change=_check_change, change_validates_all=True)
