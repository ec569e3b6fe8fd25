"""XXH64 and the fingerprint of pods; values of the hash are the published ones."""

from __future__ import annotations

import pytest

from closeknit.model.numa import NodeZones
from closeknit.numa.fingerprint import FingerprintError, check, covers_exclusive_only, fingerprint, is_compatible
from closeknit.numa.xxh64 import xxh64

EMPTY = "pfp0v001ef46db3751d8e999"
PODS = [("default", "a"), ("default", "b"), ("kube-system", "a")]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_the_hash_has_its_published_values(data: bytes, value: int) -> None:
    assert xxh64(data) == value


def test_the_seed_changes_the_hash() -> None:
    assert xxh64(b"", 1) == 0xD5AFBA1336A3BE4B


def test_no_pods_have_a_fingerprint_too() -> None:
    assert fingerprint([]) == EMPTY


def test_the_order_of_pods_does_not_matter_but_repeats_and_places_do() -> None:
    assert fingerprint(PODS) == fingerprint(PODS[::-1])
    assert len({fingerprint(some) for some in (PODS, [*PODS, PODS[0]], [("a", "default"), *PODS[1:]])}) == 3


@pytest.mark.parametrize(
    ("reported", "error"),
    [
        (EMPTY, None),
        ("", FingerprintError.MALFORMED),
        ("pfp0v001ef46db3", FingerprintError.MALFORMED),
        ("xfp0v001ef46db3751d8e999", FingerprintError.MALFORMED),
        ("pfp0v002ef46db3751d8e999", FingerprintError.INCOMPATIBLE_VERSION),
        ("pfp0v001ef46db3751d8e998", FingerprintError.MISMATCH),
        ("pfp0v001ef46db37", FingerprintError.MISMATCH),
    ],
)
def test_a_fingerprint_is_malformed_or_of_another_version_or_of_other_pods(
    reported: str, error: FingerprintError | None
) -> None:
    assert check(reported, []) == error


def test_a_version_has_four_characters() -> None:
    assert [is_compatible(one) for one in ("v001", "v000", "xxxx", "a", "")] == [True, False, False, None, None]


def test_the_method_of_the_report_counts_only_if_it_is_detected() -> None:
    exclusive, plain = NodeZones("n", exclusive_only=True), NodeZones("n")
    assert [covers_exclusive_only(exclusive, one) for one in ("Autodetect", "All", "OnlyExclusiveResources")] == [
        True,
        False,
        True,
    ]
    assert not covers_exclusive_only(plain, "Autodetect")
    assert not covers_exclusive_only(NodeZones("n", exclusive_only=True, in_annotation=True), "OnlyExclusiveResources")
