"""Counts in sentences: 1 pod, 2 pods."""

from __future__ import annotations


def number_of(count: int, noun: str) -> str:
    """number_of(1, "pod") == "1 pod", number_of(1200, "pod") == "1,200 pods"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
