"""Corners that random problems seldom reach: small problems of our own, with the answers that Kueue 0.19.2 gave.

They have the form of the suite `random_cycle_wide`. Each was found as a difference between a scheduler of Kueue's and
ours, cut down as far as it would go, and answered by Kueue the same way in sixty runs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.run import run_case

CASES = [json.loads(line) for line in (Path(__file__).parent / "corners.ndjson").read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_corner_is_answered_as_kueue_answers_it(case: dict[str, Any]) -> None:
    assert run_case("random_cycle_wide", case, None) is None
