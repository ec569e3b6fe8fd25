"""How an admission check requests nodes when there is quota but no machines yet: a ProvisioningRequestConfig."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

IDENTICAL_TEMPLATES = "IdenticalPodTemplates"
IDENTICAL_REQUIREMENTS = "IdenticalWorkloadSchedulingRequirements"
MERGE_POLICIES = (IDENTICAL_TEMPLATES, IDENTICAL_REQUIREMENTS)


class RetryPolicy(NamedTuple):
    """How often a failed request is retried, and after how many seconds; the backoff doubles each time."""

    limit: int = 3
    base: int = 60
    longest: int = 1800


DEFAULT_RETRY = RetryPolicy()


@dataclass(frozen=True, slots=True)
class ProvisioningConfig:
    """Nodes are requested for pod sets that use one of the `managed` resources; for all pod sets if it is empty.

    `selector` maps a node label to the provisioning detail that gives its value. Without `merge`, each pod set is
    requested separately.
    """

    name: str
    class_name: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    managed: tuple[str, ...] = ()
    retry: RetryPolicy = DEFAULT_RETRY
    selector: Mapping[str, str] = field(default_factory=dict)
    merge: str | None = None
