"""All objects of an installation, in the order in which they are created.

    namespace ▶ definitions ▶ permissions ▶ policies ▶ configuration ▶ controller

If a stage fails, later ones are untouched; the controller starts when everything that it needs exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .crds import definitions
from .marks import Raw, stamped
from .objects import Wishes, access, config_map, controller, namespace
from .policies import policies


class Stage(NamedTuple):
    name: str
    objects: tuple[Raw, ...]


def stages(wishes: Wishes) -> tuple[Stage, ...]:
    return (
        Stage("namespace", (namespace(wishes),)),
        Stage("definitions", tuple(stamped(one, wishes.version) for one in definitions())),
        Stage("permissions", tuple(access(wishes))),
        Stage("policies", tuple(policies_of(wishes))),
        Stage("configuration", (config_map(wishes),)),
        Stage("controller", tuple(controller(wishes))),
    )


def policies_of(wishes: Wishes) -> Iterator[Raw]:
    """The admission policies for the configuration."""
    for one in policies(wishes.rules, wishes.namespace):
        yield stamped(one, wishes.version)
