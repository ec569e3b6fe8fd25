"""The names of the installation's objects, and how to recognize them: by labels, and by their field manager."""

from __future__ import annotations

from typing import Any

from .. import __version__

Raw = dict[str, Any]

MANAGER = "closeknit-install"
"""The field manager of an installation; the controller itself writes as `closeknit`."""
NAMESPACE = "closeknit-system"
NAME = "closeknit-controller"
"""The name of the Deployment, its ServiceAccount, its roles, and its Lease."""
READER, METRICS_READER = "closeknit-reader", "closeknit-metrics-reader"
"""The roles of users that read decisions and configuration, or metrics; and the account of commands that do."""

PART_OF, VERSION = "app.kubernetes.io/part-of", "app.kubernetes.io/version"
OURS = "closeknit"
SELECTOR = f"{PART_OF}={OURS}"
PODS = {"app.kubernetes.io/name": OURS, "app.kubernetes.io/component": "controller"}
"""The selector of the Deployment, which is immutable."""
CONFIG_HASH = "closeknit.dev/config-hash"


def stamped(raw: Raw, version: str = __version__) -> Raw:
    """The object with our labels."""
    meta = raw["metadata"]
    labels = {**(meta.get("labels") or {}), PART_OF: OURS, VERSION: version}
    return {**raw, "metadata": {**meta, "labels": labels}}


def is_ours(raw: Raw) -> bool:
    labels = raw["metadata"].get("labels") or {}
    return bool(labels.get(PART_OF) == OURS)


def version_of(raw: Raw) -> str:
    """The version of closeknit that wrote the object; empty if unknown."""
    return str((raw["metadata"].get("labels") or {}).get(VERSION) or "") if is_ours(raw) else ""


def label(raw: Raw) -> str:
    """deployment/closeknit-controller"""
    return f"{raw['kind'].lower()}/{raw['metadata']['name']}"
