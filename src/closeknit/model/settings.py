"""What an administrator sets for the whole scheduler, as Kueue's configuration has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

FINAL_SHARE = "LessThanOrEqualToFinalShare"
INITIAL_SHARE = "LessThanInitialShare"


class Transformation(NamedTuple):
    """One resource counted as others: each output is so much per unit of input, in nano-units."""

    input: str
    outputs: Mapping[str, int]
    retain: bool = True
    multiply_by: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """`fair_sharing` names the strategies by which victims may be chosen, in order; empty is classical preemption."""

    fair_sharing: tuple[str, ...] = ()
    exclude_prefixes: tuple[str, ...] = ()
    transformations: tuple[Transformation, ...] = ()
    ignore_undeclared: bool = False
    requeue_by: Literal["Eviction", "Creation"] = "Eviction"
    wait_for_tighter: float = 300.0


FAIR = (FINAL_SHARE, INITIAL_SHARE)
