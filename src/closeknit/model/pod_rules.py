"""What pods ask of other pods and of their volumes, as kube-scheduler's filters read it.

A `PodKind` is what other pods have to know of a running pod: its namespace, its labels, the host ports that it uses and
the pods that it keeps away. Pods of a job are of one kind, so running pods are counted by kind. `PodRules` are what a
pod asks where it is placed itself; a pod that asks for nothing of this has none, and is as cheap as before. Labels that
number the pods of a job are left out: with them every pod would be a kind of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from .settings import NAMESPACE_NAME
from .shape import Requirement, Term

if TYPE_CHECKING:
    from .volumes import Claim

HOSTNAME = "kubernetes.io/hostname"
NUMBERING_LABELS = frozenset(
    {
        "batch.kubernetes.io/job-completion-index",
        "apps.kubernetes.io/pod-index",
        "statefulset.kubernetes.io/pod-name",
        "leaderworkerset.sigs.k8s.io/worker-index",
        "training.kubeflow.org/replica-index",
        "volcano.sh/task-index",
    }
)
"""Labels that differ between the pods of one job."""
ANY_ADDRESS = "0.0.0.0"

Labels = tuple[tuple[str, str], ...]
Selector = tuple[Requirement, ...]
"""All requirements have to hold; an empty selector selects everything."""


class HostPort(NamedTuple):
    protocol: str
    port: int
    address: str = ANY_ADDRESS

    def collides(self, other: HostPort) -> bool:
        """Whether two pods cannot both have these ports on one node; the wildcard address collides with every one."""
        if (self.protocol, self.port) != (other.protocol, other.port):
            return False
        return self.address == other.address or ANY_ADDRESS in (self.address, other.address)

    def __str__(self) -> str:
        return f"{self.protocol}/{self.port}"


class PodTerm(NamedTuple):
    """A required term of pod affinity or anti-affinity: the pods that it selects, in one domain of a node label.

    `selector` None selects no pod. Pods are those of `namespaces`, and of namespaces whose labels `in_namespaces`
    selects (None: of no further ones).
    """

    key: str
    selector: Selector | None
    namespaces: tuple[str, ...] = ()
    in_namespaces: Selector | None = None


class SpreadRule(NamedTuple):
    """A topology spread constraint with DoNotSchedule. With a policy False, all nodes count for the minimum."""

    key: str
    max_skew: int
    selector: Selector | None
    min_domains: int = 1
    by_affinity: bool = True
    by_taints: bool = False


@dataclass(frozen=True, slots=True)
class PodKind:
    """`volumes` are the PersistentVolumeClaims that its pods use; pods that are being deleted `leave`."""

    namespace: str
    labels: Labels = ()
    ports: tuple[HostPort, ...] = ()
    anti: tuple[PodTerm, ...] = ()
    volumes: tuple[str, ...] = ()
    leaves: bool = False
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        value = (self.namespace, self.labels, self.ports, self.anti, self.volumes, self.leaves)
        object.__setattr__(self, "_hash", hash(value))

    def __hash__(self) -> int:
        return self._hash

    def is_in(self, term: PodTerm, namespaces: Mapping[str, Mapping[str, str]]) -> bool:
        """Whether a term selects pods of this kind; `namespaces` has the labels of each namespace."""
        return selects(term.selector, dict(self.labels)) and self._is_among(term, namespaces)

    def _is_among(self, term: PodTerm, namespaces: Mapping[str, Mapping[str, str]]) -> bool:
        if self.namespace in term.namespaces:
            return True
        labels = {NAMESPACE_NAME: self.namespace, **namespaces.get(self.namespace, {})}
        return term.in_namespaces is not None and selects(term.in_namespaces, labels)

    def is_spread_by(self, rule: SpreadRule, namespace: str) -> bool:
        """Whether a spread rule of a pod in that namespace counts pods of this kind.

        kube-scheduler counts no pods that are being deleted, and none at all for an empty selector.
        """
        if self.leaves or not rule.selector:
            return False
        return self.namespace == namespace and selects(rule.selector, dict(self.labels))


def selects(selector: Selector | None, labels: Mapping[str, str]) -> bool:
    return selector is not None and all(one.admits(labels.get(one.key)) for one in selector)


@dataclass(frozen=True, slots=True)
class PodRules:
    """What one pod asks, beyond its own kind.

    `where` are further conditions on its node, each with the cause that a refusal names, and terms one of which has to
    match. `refused` is a cause that excludes every node. `alone` are volume claims that one pod at a time may use.
    `ephemeral` are the claims that are created with each pod. What the claims ask is known only in a cluster:
    `model.claims` adds it here.
    """

    kind: PodKind
    affinity: tuple[PodTerm, ...] = ()
    spread: tuple[SpreadRule, ...] = ()
    where: tuple[tuple[str, tuple[Term, ...]], ...] = ()
    refused: str = ""
    alone: tuple[str, ...] = ()
    ephemeral: tuple[Claim, ...] = ()

    @property
    def asks(self) -> bool:
        """Whether there is anything to check."""
        return self.excludes or self.has_volumes

    @property
    def has_volumes(self) -> bool:
        return bool(self.kind.volumes or self.ephemeral)

    @property
    def excludes(self) -> bool:
        """Whether there is anything to check, once the volumes are looked up."""
        own = self.kind.ports or self.kind.anti or self.affinity or self.spread
        return bool(own or self.where or self.refused or self.alone)
