"""All objects of an installation, in the order in which they are created.

    namespace ▶ definitions ▶ permissions ▶ policies ▶ configuration ▶ controller

If a stage fails, later ones are untouched; the controller starts when everything that it needs exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .crds import definitions
from .marks import Raw, stamped
from .objects import InstallOptions, access, config_map, controller, namespace
from .policies import policies


class InstallStage(NamedTuple):
    name: str
    objects: tuple[Raw, ...]


def stages(wishes: InstallOptions) -> tuple[InstallStage, ...]:
    return (
        InstallStage("namespace", (namespace(wishes),)),
        InstallStage("definitions", tuple(stamped(one, wishes.version) for one in definitions())),
        InstallStage("permissions", tuple(access(wishes))),
        InstallStage("policies", tuple(policies_of(wishes))),
        InstallStage("configuration", (config_map(wishes),)),
        InstallStage("controller", tuple(controller(wishes))),
    )


def policies_of(wishes: InstallOptions) -> Iterator[Raw]:
    """The admission policies for the configuration."""
    for one in policies(wishes.rules, wishes.namespace):
        yield stamped(one, wishes.version)
