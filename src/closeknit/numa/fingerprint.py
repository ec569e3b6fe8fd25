"""The fingerprint of a set of pods: how a report of zones tells which pods it accounts for.

The node agent puts the fingerprint of the pods that it saw into its report; a scheduler that computes the same value
from the pods that it knows may trust the report. Only names enter, so a pod that was replaced by one of the same name
goes unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from ..model.numa import NodeZones
from .xxh64 import xxh64

MARK = "pfp0"
VERSION = "v001"
SHORTEST = 16
"""Shorter texts are no fingerprints. A complete one has 24 characters."""


class FingerprintError(Enum):
    MALFORMED = "malformed"
    INCOMPATIBLE_VERSION = "incompatible-version"
    MISMATCH = "mismatch"


def fingerprint(pods: Iterable[tuple[str, str]]) -> str:
    """The fingerprint of pods, given as namespace and name. Their order does not matter; repeats count."""
    return fingerprint_of_hashes(pod_hash(namespace, name) for namespace, name in pods)


def pod_hash(namespace: str, name: str) -> int:
    """What one pod adds to a fingerprint."""
    return xxh64(_bytes(name), xxh64(_bytes(namespace)))


def fingerprint_of_hashes(hashes: Iterable[int]) -> str:
    """The fingerprint of pods whose hashes are known: most of the work, since a pod is in many sets."""
    whole = xxh64(b"".join(one.to_bytes(8, "little") for one in sorted(hashes)))
    return f"{MARK}{VERSION}{whole:016x}"


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def check(reported: str, pods: Iterable[tuple[str, str]]) -> FingerprintError | None:
    """None if the reported fingerprint is that of these pods, else what is wrong with it."""
    return check_form(reported) or (None if fingerprint(pods) == reported else FingerprintError.MISMATCH)


def check_form(reported: str) -> FingerprintError | None:
    """None if the text is a fingerprint of the version that is known here."""
    if len(reported) < SHORTEST or not reported.startswith(MARK):
        return FingerprintError.MALFORMED
    if not is_compatible(reported[len(MARK) : len(MARK) + len(VERSION)]):
        return FingerprintError.INCOMPATIBLE_VERSION
    return None


def is_compatible(version: str) -> bool | None:
    """Whether fingerprints of this version can be compared; None if the text is no version."""
    return version == VERSION if len(version) == len(VERSION) else None


def covers_exclusive_only(zones: NodeZones, method: str) -> bool:
    """Whether only pods with exclusive resources enter the fingerprint of a report, by the configured resync method."""
    if zones.in_annotation:
        return False
    return method == "OnlyExclusiveResources" or (method == "Autodetect" and zones.exclusive_only)
