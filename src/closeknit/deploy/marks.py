"""What our objects are called, and how they are known again: by labels, and by who wrote their fields."""

from __future__ import annotations

from typing import Any

from .. import __version__

Raw = dict[str, Any]

MANAGER = "closeknit-install"
"""The owner of the fields that an installation writes; the controller itself writes as `closeknit`."""
NAMESPACE = "closeknit-system"
NAME = "closeknit-controller"
"""Of the Deployment, its ServiceAccount, its roles, and its Lease."""

PART_OF, VERSION = "app.kubernetes.io/part-of", "app.kubernetes.io/version"
OURS = "closeknit"
SELECTOR = f"{PART_OF}={OURS}"
PODS = {"app.kubernetes.io/name": OURS, "app.kubernetes.io/component": "controller"}
"""What the Deployment finds its pods by; it can never be changed."""
CONFIG_HASH = "closeknit.dev/config-hash"


def stamped(raw: Raw, version: str = __version__) -> Raw:
    """With the labels of ours."""
    meta = raw["metadata"]
    labels = {**(meta.get("labels") or {}), PART_OF: OURS, VERSION: version}
    return {**raw, "metadata": {**meta, "labels": labels}}


def is_ours(raw: Raw) -> bool:
    labels = raw["metadata"].get("labels") or {}
    return bool(labels.get(PART_OF) == OURS)


def version_of(raw: Raw) -> str:
    """Of the closeknit that wrote it; empty if it does not say."""
    return str((raw["metadata"].get("labels") or {}).get(VERSION) or "") if is_ours(raw) else ""


def label(raw: Raw) -> str:
    """deployment/closeknit-controller"""
    return f"{raw['kind'].lower()}/{raw['metadata']['name']}"
