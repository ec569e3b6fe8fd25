"""The suites that can be run: each turns a case into a decision to make and the answer it expects."""

from __future__ import annotations

from collections.abc import Callable

from .case import Case, Prepared, difference
from .encoding import encoding, prefix_encoding
from .placement import layered_replacement, placement, table_placement
from .request_builder import request_builder

SUITES: dict[str, Callable[[Case], Prepared]] = {
    "find_topology_assignments": table_placement,
    "random_placement": placement,
    "random_placement_wide": placement,
    "multi_layer_replacement": layered_replacement,
    "topology_request_builder": request_builder,
    "assignment_encoding": encoding,
    "assignment_encoding_prefix": prefix_encoding,
}

__all__ = ["SUITES", "Case", "Prepared", "difference"]
