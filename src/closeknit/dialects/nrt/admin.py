"""Validation of NodeResourceTopologies, each by itself."""

from __future__ import annotations

from collections.abc import Callable

from ..field import Field
from . import keys
from .reading import check_topology

CHECKS: dict[tuple[str, str], Callable[[Field], None]] = {(keys.GROUP, keys.KIND): check_topology}
"""By API group and kind."""
