"""Ids: what they look like, and when they repeat."""

from __future__ import annotations

import re
from uuid import UUID

from closeknit.cluster.embedded.ids import RandomIds


def test_a_uid_is_a_version_4_uuid() -> None:
    ids = RandomIds("seed")
    for _ in range(100):
        uid = UUID(ids.uid())
        assert (uid.version, uid.variant) == (4, "specified in RFC 4122")


def test_a_tail_has_the_length_asked_for_and_no_vowels() -> None:
    assert re.fullmatch(r"[bcdfghjklmnpqrstvwxz2456789]{200}", RandomIds(1).tail(200))


def test_the_same_seed_gives_the_same_ids() -> None:
    one, other = RandomIds(7), RandomIds(7)
    assert [one.uid(), one.tail(5), one.uid()] == [other.uid(), other.tail(5), other.uid()]


def test_another_seed_or_none_gives_others() -> None:
    assert len({RandomIds(1).uid(), RandomIds(2).uid(), RandomIds().uid(), RandomIds().uid()}) == 4
