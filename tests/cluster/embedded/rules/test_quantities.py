from __future__ import annotations

import pytest

from closeknit.cluster.embedded.rules.quantities import canonical, canonical_all, written
from closeknit.cluster.errors import BadRequest


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("1", "1"),
        ("1000", "1k"),
        ("1024", "1024"),
        ("1024Ki", "1Mi"),
        ("0.5Ki", "512"),
        ("1.5Gi", "1536Mi"),
        ("1.25Ki", "1280"),
        ("0.1Ki", "102400m"),
        ("1000Ki", "1000Ki"),
        ("1e3", "1e3"),
        ("1e4", "10e3"),
        ("1.5e3", "1500"),
        ("1e-1", "100e-3"),
        ("0.5", "500m"),
        ("1000m", "1"),
        ("0.0005", "1m"),
        ("1n", "1m"),
        ("0Gi", "0"),
        ("1000k", "1M"),
        ("10Ei", "9223372036854775807"),
        ("-1", "-1"),
    ],
)
def test_a_quantity_comes_back_in_one_form(given: str, kept: str) -> None:
    assert canonical(given) == kept
    assert canonical(kept) == kept


def test_numbers_become_texts_and_null_becomes_nothing() -> None:
    assert [written(2), written(1.5), written(None)] == ["2", "1500m", "0"]


@pytest.mark.parametrize("given", ["1 Gi", "1K", "", "1e", True, [], "9" * 300, pytest.param(10**5000, id="huge")])
def test_a_malformed_quantity_cannot_be_decoded(given: object) -> None:
    with pytest.raises(BadRequest):
        written(given)


def test_a_list_that_is_in_form_stays_the_very_same() -> None:
    good, other = {"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1024Mi"}
    assert canonical_all(good) is good
    assert canonical_all(other) == {"cpu": "1", "memory": "1Gi"}
    assert other["memory"] == "1024Mi"
