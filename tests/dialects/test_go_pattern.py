"""Go's regular expressions: the same texts match as in Python where both have the syntax, in linear time."""

from __future__ import annotations

import re
from time import perf_counter

import pytest

from closeknit.dialects.go_pattern import GoPattern
from closeknit.dialects.go_pattern_syntax import PatternError

NAMES = ("", "node-1", "node-10", "rack-a-node-3", "NODE-1", "a", "aaaa", "n1.example.com", "-", "a\nb", "]", "{2")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "node",
        "^node-[0-9]+$",
        r"^node-\d{1,2}$",
        "^rack-(a|b)-node-.*",
        "(?i)^node",
        "(?i:NODE)-1",
        "^(?:node|rack)",
        "^(?P<kind>node|rack)-",
        "a{2,}",
        "^a{4}$",
        "^a{2,3}?$",
        "[^a-z]",
        r"[\d.]+",
        r"\.example\.com$",
        "a.b",
        "(?s)a.b",
        r"\Aa+\z",
        "[]a]",
        "[a-]",
        "x|",
        r"\w+-\W?\D?\S",
        "{2",
        "()*",
        "^$",
        "(a*)*",
    ],
)
def test_an_expression_matches_what_python_matches(text: str) -> None:
    pattern = GoPattern(text)
    python = re.compile(text.replace(r"\z", r"\Z").replace("$", r"\Z"), re.ASCII)
    assert [name for name in NAMES if pattern.search(name)] == [name for name in NAMES if python.search(name)]


def test_classes_have_posix_names() -> None:
    pattern = GoPattern("^[[:alpha:]]+-[[:digit:]_]+$")
    assert [name for name in ("node-1", "1-node", "node-_") if pattern.search(name)] == ["node-1", "node-_"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a(b", "lacks a closing parenthesis"),
        ("a)b", "has a closing parenthesis too many"),
        ("[a", "ends too early"),
        ("a**", "repeats a repetition"),
        ("*a", "repeats nothing"),
        ("(?=a)", "which is not supported"),
        ("(?<!a)", "do not have"),
        (r"(a)\1", "uses \\1"),
        (r"\bnode", "uses \\b"),
        (r"\pL", "uses \\p"),
        ("(?m)a", "(?m"),
        ("[[:nope:]]", "[:nope:]"),
        ("[z-a]", "which is empty"),
        ("a{1001}", "0 to 1000"),
        ("a{3,2}", "0 to 1000"),
        ("a\\", "ends too early"),
        ("(((a{1000}){1000}){1000})", "too large"),
        ("(((a{0}){1000}){1000}){1000}", "too large"),
        ("(" * 500 + ")" * 500, "nests deeper"),
    ],
)
def test_what_go_refuses_or_is_not_supported_is_refused(text: str, said: str) -> None:
    with pytest.raises(PatternError, match=re.escape(said)):
        GoPattern(text)


def test_the_end_of_an_empty_text_is_its_start_in_either_order() -> None:
    assert GoPattern(r"\z^").search("")
    assert not GoPattern(r"\z^").search("a")
    assert GoPattern(r"^\z").search("")


@pytest.mark.parametrize("text", ["(a+)+$", "(a|aa)+$", "(a*)*b", "a*a*a*a*a*a*a*b"])
def test_no_expression_takes_exponential_time(text: str) -> None:
    pattern = GoPattern(text)
    begin = perf_counter()
    for length in range(200, 254):
        pattern.search("a" * length + "!")
    assert perf_counter() - begin < 20
