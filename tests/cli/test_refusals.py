"""Messages for rejected requests, with their remedies."""

from __future__ import annotations

import pytest

from closeknit.cli.refusals import sentences
from closeknit.cluster.errors import Cause, Conflict, Forbidden, NotFound, Refused, TooManyRequests

ENDING = Cause("metadata.namespace", "namespace x is being terminated", "NamespaceTerminating")
MANAGED = Cause("spec.replicas", "is owned by another manager", "FieldManagerConflict")


@pytest.mark.parametrize(
    ("refused", "first"),
    [
        (Forbidden("it ends", causes=[ENDING]), "it ends; wait until the namespace is deleted, and try again"),
        (Forbidden("you may not"), "you may not"),
        (NotFound("gone", kind="jobs", name="train"), "gone; `closeknit get jobs -A` lists those that exist"),
        (
            NotFound("no page"),
            "no page; the cluster does not serve this kind: is its CustomResourceDefinition installed?",
        ),
        (
            Conflict("theirs", causes=[MANAGED]),
            "theirs; remove these fields from the manifest, or take them over with ",
        ),
        (TooManyRequests("busy"), "busy; try again later"),
    ],
)
def test_the_servers_message_comes_before_the_remedy(refused: Refused, first: str) -> None:
    assert next(iter(sentences(refused))).startswith(first)


def test_a_cause_that_the_message_omits_is_printed_too() -> None:
    assert list(sentences(Forbidden("it ends", causes=[ENDING])))[1:] == [
        "metadata.namespace: namespace x is being terminated"
    ]
