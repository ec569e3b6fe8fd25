"""How the kind of an object is named in a sentence."""

from __future__ import annotations

import pytest

from closeknit.dialects.served import Kind


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("AppWrapper", "an AppWrapper"),
        ("MPIJob", "an MPIJob"),
        ("XGBoostJob", "an XGBoostJob"),
        ("Job", "a Job"),
        ("LeaderWorkerSet", "a LeaderWorkerSet"),
        ("TFJob", "a TFJob"),
    ],
)
def test_a_kind_gets_the_article_of_its_first_sound(kind: str, named: str) -> None:
    assert Kind("example.com", "v1", kind, "x").with_article == named
