from __future__ import annotations

from closeknit.cluster.embedded.rest.warnings import MOST, MOST_EACH, headers


def test_a_warning_is_quoted_and_on_one_line() -> None:
    assert list(headers(['a "b" \\ c\nd'])) == ['299 - "a \\"b\\" \\\\ c d"']


def test_equal_warnings_are_sent_once() -> None:
    assert list(headers(["a", "b", "a"])) == ['299 - "a"', '299 - "b"']


def test_a_long_warning_is_kept_while_there_is_room() -> None:
    assert list(headers(["x" * 4096])) == [f'299 - "{"x" * 4096}"']


def test_too_much_is_cut_and_then_left_out() -> None:
    found = list(headers([f"{number:04}" + "x" * 500 for number in range(100)]))
    assert len(found) == MOST // MOST_EACH == 16
    assert all(len(one) == len('299 - ""') + 256 and one.endswith('x…"') for one in found)
    assert [one[7:11] for one in found] == [f"{number:04}" for number in range(16)]
