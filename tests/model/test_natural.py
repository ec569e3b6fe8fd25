from __future__ import annotations

from closeknit.model.natural import natural


def test_numbers_in_names_count_as_numbers() -> None:
    assert sorted(["a-10", "a-2", "a", "b-1", "a-02", "10", "9"], key=natural) == [
        *("9", "10", "a", "a-02", "a-2", "a-10", "b-1")
    ]
