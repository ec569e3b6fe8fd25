"""Label keys and values, and names of objects, as Kubernetes takes them."""

from __future__ import annotations

import pytest

from closeknit.model.label_names import is_label_value, is_qualified_name, is_subdomain


@pytest.mark.parametrize(
    "text", ["rack", "a", "9", "kubernetes.io/hostname", "a-b.c/D_e.f-g", "x" * 63, f"{'a' * 253}/{'b' * 63}"]
)
def test_a_qualified_name_is_an_optional_dns_prefix_and_a_short_name(text: str) -> None:
    assert is_qualified_name(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "/rack",
        "a/",
        "a/b/c",
        "-a",
        "a-",
        "a b",
        "x" * 64,
        "A.io/b",
        "a..b/c",
        f"{'a' * 254}/b",
        "räck",
        "a\n",
    ],
)
def test_anything_else_is_no_qualified_name(text: str) -> None:
    assert not is_qualified_name(text)


def test_a_label_value_may_be_empty_but_not_begin_or_end_with_a_dash() -> None:
    assert all(map(is_label_value, ["", "r1", "A_b.c-d", "x" * 63]))
    assert not any(map(is_label_value, ["-", "r1-", "a/b", "x" * 64, "a\n"]))


def test_the_name_of_an_object_is_a_dns_subdomain() -> None:
    assert all(map(is_subdomain, ["a", "9", "train-1", "a.b-c.d", "x" * 253]))
    assert not any(map(is_subdomain, ["", "Train", "train_1", "-a", "a-", "a.", ".a", "a..b", "a b", "x" * 254, "a\n"]))
