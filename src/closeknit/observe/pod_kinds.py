"""The kinds of running pods: equal ones share one value, and so do their labels.

A cluster has many pods of few kinds. Pods whose rules cannot be read count as pods without any.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from ..cluster.port import Raw
from ..dialects.pod_rules import read_kind
from ..model.pod_rules import PodKind

MOST_KINDS = 50_000
_WORDS = (b'"hostPort"', b'"hostNetwork"', b'"podAntiAffinity"', b'"persistentVolumeClaim"')
"""What the kind of a pod is read from, besides its labels."""


class KindCache:
    """Without `active`, pods have no kind: no rules about other pods are in use."""

    def __init__(self, active: bool) -> None:
        self.active = active
        self._kinds: dict[PodKind, PodKind] = {}
        self._labels: dict[tuple[str, str], tuple[str, str]] = {}

    def of(self, pod: Raw) -> PodKind | None:
        meta = pod["metadata"]
        labels, leaves = meta.get("labels") or {}, "deletionTimestamp" in meta
        return self.kind(meta.get("namespace") or "default", labels, pod["spec"], leaves)

    def of_text(
        self, namespace: str, labels: dict[str, str], data: bytes | msgspec.Raw, leaves: bool = False
    ) -> PodKind | None:
        """The same from JSON; most pods have nothing in their spec that others have to know."""
        text = bytes(data)
        spec = msgspec.json.decode(text).get("spec") or {} if any(word in text for word in _WORDS) else {}
        return self.kind(namespace, labels, spec, leaves)

    def kind(self, namespace: str, labels: dict[str, str], spec: Raw, leaves: bool = False) -> PodKind | None:
        """The kind of a pod, the same object for equal pods."""
        if not self.active:
            return None
        try:
            found = read_kind(namespace, labels, spec, leaves)
        except (msgspec.ValidationError, AttributeError, TypeError):
            found = PodKind(namespace)
        known = self._kinds.get(found)
        if known is None:
            if len(self._kinds) > MOST_KINDS:
                self._kinds.clear()
                self._labels.clear()
            shared = tuple(self._labels.setdefault(one, one) for one in found.labels)
            known = replace(found, labels=shared)
            self._kinds[known] = known
        return known
