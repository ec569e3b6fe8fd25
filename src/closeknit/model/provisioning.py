"""How nodes are asked for when quota is there but machines are not yet: the settings of an admission check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

IDENTICAL_TEMPLATES = "IdenticalPodTemplates"
IDENTICAL_REQUIREMENTS = "IdenticalWorkloadSchedulingRequirements"
MERGE_POLICIES = (IDENTICAL_TEMPLATES, IDENTICAL_REQUIREMENTS)


class Retry(NamedTuple):
    """How often, and after how many seconds, a request that failed is made again; the wait doubles each time."""

    limit: int = 3
    base: int = 60
    longest: int = 1800


DEFAULT_RETRY = Retry()


@dataclass(frozen=True, slots=True)
class ProvisioningConfig:
    """`managed` empty: any resource is a reason to ask. `selector` maps a node label to the detail that gives it.

    `merge` None: every pod set is asked for by itself.
    """

    name: str
    class_name: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    managed: tuple[str, ...] = ()
    retry: Retry = DEFAULT_RETRY
    selector: Mapping[str, str] = field(default_factory=dict)
    merge: str | None = None
