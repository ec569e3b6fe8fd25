"""Stand-ins for the operators of custom kinds of jobs: a module for each, which names its controller `STANDIN`.

A new operator is a file here and nothing else. Its turn comes in the order of the descriptors of the kinds.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from .....dialects.kueue.jobs.kinds import JOB_KINDS
from ...loop import Standin
from ..controller import Controller
from ..settings import Settings


def operators(settings: Settings) -> list[Standin]:
    """One for each kind that has one."""
    modules = [import_module(f"{__name__}.{one.name}") for one in iter_modules(__path__)]
    found: list[type[Controller]] = [one.STANDIN for one in modules if hasattr(one, "STANDIN")]
    by_kind = {one.kind: one for one in found}
    return [by_kind[one.served](settings) for one in JOB_KINDS if one.served in by_kind]
