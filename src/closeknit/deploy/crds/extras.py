"""What the tables of fields and limits do not contain: objects with defaults, and additional required fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...dialects.kueue.objects.defaults import CLUSTER_QUEUE, PROVISIONING

Path = str

TEMPLATES = frozenset({("Workload", "spec.podSets[].template")})
"""Pod templates: unknown fields are preserved, since pods may get new ones."""


def _made_up(defaults: dict[str, Any], path: Path) -> Iterator[Path]:
    for name, value in defaults.items():
        if isinstance(value, dict):
            yield f"{path}.{name}"
            yield from _made_up(value, f"{path}.{name}")


FILLED: dict[str, frozenset[Path]] = {
    "ClusterQueue": frozenset({"spec", *_made_up(CLUSTER_QUEUE, "spec")}),
    "ProvisioningRequestConfig": frozenset(_made_up(PROVISIONING, "spec")),
}
"""Objects with an empty default, so that their fields get defaults even if the object is absent."""

NEEDED: dict[str, frozenset[Path]] = {
    "AdmissionCheck": frozenset({"spec"}),
    "LocalQueue": frozenset({"spec", "spec.clusterQueue"}),
    "Maintenance": frozenset({"spec"}),
    "ProvisioningRequestConfig": frozenset({"spec"}),
    "Topology": frozenset({"spec"}),
    "Workload": frozenset({"spec", "spec.podSets"}),
}
"""Required fields in addition to those of the table."""
