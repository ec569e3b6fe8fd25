from __future__ import annotations

import json

import pytest

from closeknit.model.escaping import escaped, in_one_line

HOSTILE = "\x1b]0;owned\x07 \x9b2J \u202eevil\u202c \x7f \u2066x \ufeff"


def test_lines_and_tabs_stay_and_everything_else_that_acts_on_a_terminal_is_shown() -> None:
    assert escaped("a\tb\nc") == "a\tb\nc"
    assert escaped("\x1b[2J\r") == "\\u001b[2J\\u000d"
    assert escaped(HOSTILE).isprintable()


def test_names_in_any_script_stay_as_they_are() -> None:
    assert in_one_line("déjà-vu 作業 🚀 عمل") == "déjà-vu 作業 🚀 عمل"


def test_a_name_cannot_begin_a_new_line() -> None:
    assert in_one_line("a\nerror: b") == "a\\u000aerror: b"


@pytest.mark.parametrize("text", [HOSTILE, "\u2028\u2029", "\u200f"])
def test_escaped_json_means_the_same(text: str) -> None:
    assert json.loads(escaped(json.dumps(text, ensure_ascii=False))) == text
