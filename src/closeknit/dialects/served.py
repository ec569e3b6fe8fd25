"""API kinds: the path at which a kind is served, its short names and its subresources.

The path of a kind belongs to its wire format, so it is here, where job descriptors can refer to it. `cluster.kinds`
lists all kinds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """`status`, `scale`: whether it has that subresource. `counted`: `metadata.generation` increases with the spec.

    `categories` are the groups of kinds that kubectl knows, as in `kubectl get all`.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    short: tuple[str, ...] = ()
    status: bool = True
    scale: bool = False
    counted: bool = True
    categories: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def singular(self) -> str:
        return self.kind.lower()

    @property
    def with_article(self) -> str:
        """As a sentence names one object of the kind: a Job, an AppWrapper, an MPIJob."""
        return f"{'an' if _AN.match(self.kind) else 'a'} {self.kind}"

    @property
    def resource(self) -> str:
        """As Status errors name it: jobs.batch."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def is_built_in(self) -> bool:
        """Whether Kubernetes itself has the kind, without a CustomResourceDefinition."""
        return "." not in self.group or self.group in _OWN_GROUPS

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The API path: /apis/batch/v1/namespaces/default/jobs/train/status."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace and self.namespaced:
            parts += ["namespaces", namespace]
        parts += [self.plural, *([name] if name else []), *([subresource] if subresource else [])]
        return "/" + "/".join(parts)

    def __repr__(self) -> str:
        return f"Kind({self.api_version} {self.kind})"


_AN = re.compile("[AEIOU]|[FHLMNRSX][A-Z]")
"""Kinds that begin with the sound of a vowel; of an abbreviation, the name of its first letter counts."""
_OWN_GROUPS = frozenset({"scheduling.k8s.io", "node.k8s.io", "coordination.k8s.io", "storage.k8s.io"})
