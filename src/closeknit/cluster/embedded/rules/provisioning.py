"""ProvisioningRequests: their spec is immutable."""

from __future__ import annotations

from ....dialects.field import Field
from .causes import Causes, entries
from .names import subdomain
from .rule import KindRule, unexchanged

MAX_POD_SETS = 32
MAX_PARAMETER = 255


def _check(raw: Field, causes: Causes) -> None:
    spec = raw.at("spec")
    _check_name(spec.at("provisioningClassName"), causes)
    sets = spec.at("podSets")
    if not sets.items():
        causes.required(sets)
    elif len(sets.items()) > MAX_POD_SETS:
        causes.too_many(sets, len(sets.items()), MAX_POD_SETS)
    for one in sets.items():
        causes.at_least(one.at("count"), 1, needed=True)
        _check_name(one.at("podTemplateRef", "name"), causes)
    for value in entries(spec.at("parameters")).values():
        if len(value.text()) > MAX_PARAMETER:
            causes.too_long(value, MAX_PARAMETER)


def _check_name(name: Field, causes: Causes) -> None:
    if not name.text():
        causes.required(name)
    elif subdomain(name.text()):
        causes.invalid(name, subdomain(name.text()))


def _check_change(old: Field, new: Field, causes: Causes) -> None:
    unexchanged(old.at("spec"), new.at("spec"), causes, "parameters", "podSets", "provisioningClassName")


PROVISIONING_REQUEST_RULE = KindRule(check=_check, change=_check_change)
