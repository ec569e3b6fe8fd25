from __future__ import annotations

import pytest

from closeknit.dialects.timestamps import parse, show


def test_a_time_is_seconds_since_1970_whatever_its_offset() -> None:
    assert parse("1970-01-01T00:01:00Z") == 60.0
    assert parse("1970-01-01T02:01:00+02:00") == 60.0
    assert parse("1970-01-01T00:01:00.25Z") == 60.25
    assert parse("2026-11-15T19:09:05.123456789Z") == pytest.approx(1794769745.123456, abs=1e-6)


def test_a_fraction_is_shown_only_if_there_is_one() -> None:
    assert show(60.0) == "1970-01-01T00:01:00Z"
    assert show(60.25) == "1970-01-01T00:01:00.25Z"
    assert show(1794769745.0) == "2026-11-15T19:09:05Z"


def test_a_shown_time_is_parsed_back() -> None:
    for text in ("2026-11-15T19:09:05Z", "2026-11-15T19:09:05.123456Z", "0001-01-01T00:00:00Z"):
        assert show(parse(text)) == text


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-15T19:09:05", "2026-13-01T00:00:00Z"])
def test_an_invalid_or_ambiguous_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)
