"""The name that users know a workload by: that of the job it was created for."""

from __future__ import annotations

from typing import NamedTuple


class Name(NamedTuple):
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"
