"""Parameters of requests: what they mean and which are refused."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.rest.queries import Deleting, QueryString, deleting, writing
from closeknit.cluster.errors import BadRequest, Invalid


def test_the_first_value_counts_and_unknown_parameters_do_no_harm() -> None:
    query = QueryString("limit=1&limit=2&x=%zz&watch&pretty=true")
    assert (query.number("limit"), query.flag("watch"), query.text("x")) == (1, True, "%zz")


@pytest.mark.parametrize(
    ("text", "meant"), [("", False), ("watch=0", False), ("watch=false", False), ("watch=x", True)]
)
def test_a_flag_is_set_unless_it_says_no(text: str, meant: bool) -> None:
    assert QueryString(text).flag("watch") is meant


@pytest.mark.parametrize("text", ["x", "1.5", "1_0", "٣", "99999999999999999999", " 1"])
def test_a_number_is_a_whole_one(text: str) -> None:
    with pytest.raises(BadRequest):
        QueryString(f"limit={text}").number("limit")


@pytest.mark.parametrize("text", ["x", "-1", "1.5", "٣", "9" * 30])
def test_a_version_is_a_number(text: str) -> None:
    with pytest.raises(BadRequest):
        QueryString(f"resourceVersion={text}").version()


def test_bytes_that_are_no_text_become_something_that_can_be_written() -> None:
    assert QueryString("a=%ff\udcff").text("a").encode() != b""


@pytest.mark.parametrize(
    ("text", "options", "field"),
    [
        ("dryRun=Some", "CreateOptions", "dryRun"),
        ("fieldValidation=Maybe", "UpdateOptions", "fieldValidation"),
        (f"fieldManager={'x' * 129}", "CreateOptions", "fieldManager"),
        ("fieldManager=a%0a", "CreateOptions", "fieldManager"),
        ("force=true", "PatchOptions", "force"),
    ],
)
def test_a_parameter_that_breaks_a_rule_is_named(text: str, options: str, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        writing(QueryString(text), options, "")
    assert (refused.value.group, refused.value.kind) == ("meta.k8s.io", options)
    assert [cause.field for cause in refused.value.causes] == [field]


def test_an_apply_needs_a_manager() -> None:
    with pytest.raises(Invalid):
        writing(QueryString(""), "PatchOptions", "kubectl/1", is_apply=True)


@pytest.mark.parametrize(
    ("text", "agent", "manager"),
    [
        ("fieldManager=me", "kubectl/v1.36", "me"),
        ("", "kubectl/v1.36 (linux)", "kubectl"),
        ("", "", "unknown"),
        ("", "/", "unknown"),
        ("", "a\tb\udcff/1", "ab"),
        ("", "x" * 200, "x" * 128),
    ],
)
def test_every_write_has_a_field_manager(text: str, agent: str, manager: str) -> None:
    assert writing(QueryString(text), "CreateOptions", agent).manager == manager


def test_how_to_write_is_read_from_the_query() -> None:
    options = writing(QueryString("dryRun=All&fieldValidation=Strict&force=true"), "CreateOptions", "a")
    assert (options.dry_run, options.validation, options.force, options.trusted) == (True, "Strict", True, False)
    assert writing(QueryString(""), "CreateOptions", "a").validation == "Warn"


@pytest.mark.parametrize(
    ("text", "body", "meant"),
    [
        ("", None, Deleting()),
        ("propagationPolicy=Orphan&gracePeriodSeconds=5", None, Deleting("Orphan", 5)),
        ("", {"propagationPolicy": "Foreground", "gracePeriodSeconds": 0}, Deleting("Foreground", 0)),
        ("orphanDependents=true", None, Deleting("Orphan")),
        ("", {"orphanDependents": False}, Deleting("Background")),
        ("", {"preconditions": {"uid": "u", "resourceVersion": "7"}}, Deleting(uid="u", version="7")),
        ("", {"dryRun": ["All"]}, Deleting(is_dry=True)),
        ("dryRun=All", {"gracePeriodSeconds": 1}, Deleting(grace=1, is_dry=True)),
    ],
)
def test_how_to_delete_is_read_from_the_body_and_the_query(
    text: str, body: dict[str, Any] | None, meant: Deleting
) -> None:
    assert deleting(QueryString(text), body) == meant


@pytest.mark.parametrize(
    "body",
    [
        {"propagationPolicy": "Sideways"},
        {"propagationPolicy": "Orphan", "orphanDependents": True},
        {"dryRun": ["Some"]},
    ],
)
def test_options_of_a_deletion_that_break_a_rule_are_invalid(body: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        deleting(QueryString(""), body)


@pytest.mark.parametrize(
    "body",
    [
        {"gracePeriodSeconds": "1"},
        {"gracePeriodSeconds": True},
        {"preconditions": 1},
        {"preconditions": {"uid": 1}},
        {"dryRun": "All"},
        {"propagationPolicy": {}},
    ],
)
def test_options_of_a_deletion_of_the_wrong_type_are_refused(body: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        deleting(QueryString(""), body)
