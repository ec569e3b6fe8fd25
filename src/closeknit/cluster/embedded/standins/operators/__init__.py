"""Stand-ins for the operators of custom job kinds: one module each, with its controller as `STANDIN`.

A new operator is a file here and nothing else. They run in the order of the kinds' descriptors.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from .....dialects.kueue.jobs.kinds import JOB_KINDS
from ...loop import Standin
from ..controller import Controller
from ..settings import StandinSettings


def operators(settings: StandinSettings) -> list[Standin]:
    """The operators of all kinds that have one."""
    modules = [import_module(f"{__name__}.{one.name}") for one in iter_modules(__path__)]
    found: list[type[Controller]] = [one.STANDIN for one in modules if hasattr(one, "STANDIN")]
    by_kind = {one.kind: one for one in found}
    return [by_kind[one.served](settings) for one in JOB_KINDS if one.served in by_kind]
