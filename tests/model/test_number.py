"""Numbers of things in sentences."""

from __future__ import annotations

import pytest

from closeknit.model.number import number_of


@pytest.mark.parametrize(("count", "said"), [(0, "0 pods"), (1, "1 pod"), (2, "2 pods"), (1200, "1,200 pods")])
def test_one_is_not_many(count: int, said: str) -> None:
    assert number_of(count, "pod") == said
