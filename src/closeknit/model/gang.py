"""A gang: a tree of groups of pods as one of the group dialects describes it, with the pods that belong to it.

A Kueue workload is admitted by an object; a gang is placed on nodes directly. The dialects of KAI, Kubernetes,
Volcano and Grove each read their objects into this one value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .request import Request

Dialect = Literal["kai", "kubernetes", "volcano", "grove"]


@dataclass(frozen=True, slots=True)
class Gang:
    """`missing` are pods that the minimum counts but that do not exist yet: until they do, the gang waits.

    `pods` of the request's pod sets are `namespace/name`. `notices` are sentences for people about what was read
    differently from what the object seems to say. `kind` and `where` are those of the object and its file; `owner` is
    the job that a group was made for, such as "Job train".
    """

    dialect: Dialect
    namespace: str
    name: str
    request: Request
    queue: str = ""
    priority: int = 0
    priority_class: str = ""
    preemptible: bool = True
    created: float = 0.0
    missing: int = 0
    notices: tuple[str, ...] = ()
    kind: str = "PodGroup"
    where: str = ""
    owner: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def title(self) -> str:
        """What people call it: the job that it was made for, else the object itself."""
        return self.owner or f"{self.kind} {self.name}"
