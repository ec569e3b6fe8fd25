"""A shape is everything about a pod that decides which nodes can hold it, and how many a node holds.

Two pods of equal shape are interchangeable for placement, so results are computed once per shape and cached. A shape
is immutable and its hash is computed once: it is the key of every cache in the engine. Names and images of containers
are left out, because no count of pods depends on them. The kind of the pods is carried along for the sake of other
pods, but is no part of the shape: jobs that differ in their labels alone share all results.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from .container import Amounts, Container, Needs, QoS, qos_class, sorted_amounts
from .quantity import INT64_MAX
from .resources import PODS, Resources

if TYPE_CHECKING:
    from .numa import TopologyPolicy
    from .pod_rules import PodKind, PodRules

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
HARD_EFFECTS = ("NoSchedule", "NoExecute")
MAINTENANCE = "closeknit.dev/Maintenance"
"""The effect of a taint that stands for a maintenance window; its key is the name of the window."""

_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})", re.ASCII)


class Taint(NamedTuple):
    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"

    @property
    def cause(self) -> str:
        """How a refusal names what keeps pods off the node."""
        return f'maintenance "{self.key}" {self.value}' if self.effect == MAINTENANCE else f'taint "{self}"'


@dataclass(frozen=True, slots=True)
class Toleration:
    """`seconds` is how long a taint is tolerated, None means forever.

    It bounds how long a pod stays on a tainted node but never excludes a node, so it is not part of the shape.
    """

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = field(default=None, compare=False)

    def tolerates(self, taint: Taint) -> bool:
        """Whether this toleration covers the taint; an empty key with Exists covers every taint."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        match self.operator:
            case "Exists":
                return True
            case "" | "Equal":
                return bool(self.key) and self.value == taint.value
            case "Gt" | "Lt":
                return bool(self.key) and _compares(self.operator, self.value, taint.value)
        return False


def _compares(operator: str, bound: str, value: str) -> bool:
    """Whether `value` is greater (Gt) or less (Lt) than `bound`, both whole numbers."""
    left, right = whole_number(value), whole_number(bound)
    if left is None or right is None:
        return False
    return left > right if operator == "Gt" else left < right


def whole_number(text: str) -> int | None:
    """Parse a number like Go's ParseInt: an optional sign, ASCII digits, within 64 bits; None for anything else.

    whole_number("+08") == 8, but "1_0", " 9" and "٣" are not numbers.
    """
    match = _INTEGER.fullmatch(text)
    number = int(match[1] + match[2]) if match else INT64_MAX + 1
    return number if -INT64_MAX - 1 <= number <= INT64_MAX else None


class Requirement(NamedTuple):
    """One expression of a node selector term: a key, an operator, values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def admits(self, value: str | None) -> bool:
        """Whether a node whose label has this value (None: no such label) meets the requirement."""
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return value is not None and len(self.values) == 1 and _compares(self.operator, self.values[0], value)
        return False


class Term(NamedTuple):
    """Requirements on labels and on fields (metadata.name) that must all hold; an empty term matches nothing."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class WeightedTerm(NamedTuple):
    weight: int
    term: Term


class Charge(tuple[tuple[str, int], ...]):
    """What one pod takes from a node, by resource, and the shape that this is of.

    Equal amounts are equal charges. Beside the amounts, other pods may have rules about the kind of the pod, and NUMA
    zones have to serve its containers.
    """

    shape: Shape


@dataclass(frozen=True, slots=True, eq=True)
class Shape:
    """`required` is None without required affinity; an empty tuple of terms matches no node.

    `requests` is the total of one pod. `containers` are its containers in start order: init containers and sidecars as
    listed, then the others. `overhead` and `pod_level` are the pod's own overhead and pod-level resources. `clear_of`
    are the maintenance windows that its pods are sure not to reach. `rules` are what the pods ask of other pods; None
    if they ask for nothing. `numa_policy` is how its pods ask to be aligned on NUMA zones, whatever their node does.
    """

    requests: Amounts
    selector: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    required: tuple[Term, ...] | None = None
    preferred: tuple[WeightedTerm, ...] = ()
    containers: tuple[Container, ...] = ()
    overhead: Amounts = ()
    pod_level: Needs | None = None
    clear_of: tuple[Taint, ...] = ()
    rules: PodRules | None = None
    numa_policy: TopologyPolicy | None = None
    kind: PodKind | None = field(default=None, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)
    _plain: Shape | None = field(init=False, repr=False, compare=False)
    charge: Charge = field(init=False, repr=False, compare=False)
    """What one pod takes from a node, by resource: its requests and 1 of `pods`."""

    def __post_init__(self) -> None:
        choice = (self.selector, self.tolerations, self.required, self.preferred, self.clear_of, self.rules)
        needs = (self.requests, self.containers, self.overhead, self.pod_level, self.numa_policy)
        object.__setattr__(self, "_hash", hash((choice, needs)))
        object.__setattr__(self, "_plain", None)
        charge = Charge(sorted_amounts({**dict(self.requests), PODS: 1}))
        charge.shape = self
        object.__setattr__(self, "charge", charge)

    def __hash__(self) -> int:
        return self._hash

    @property
    def qos(self) -> QoS:
        return qos_class(self.containers, self.pod_level)

    @property
    def plain(self) -> Shape:
        """The shape reduced to the sum of its requests: the cache key where containers do not matter."""
        if self._plain is None:
            whole = _as_one(self.requests)
            summed = replace(self, containers=whole, overhead=(), pod_level=None, numa_policy=None)
            object.__setattr__(self, "_plain", self if summed == self else summed)
        assert self._plain is not None
        return self._plain

    def ruled(self, rules: PodRules | None, kind: PodKind | None) -> Shape:
        """The same pods with other rules, and of another kind."""
        return self if rules == self.rules and kind is self.kind else replace(self, rules=rules, kind=kind)

    @classmethod
    def of(
        cls,
        requests: Resources,
        selector: Mapping[str, str] | None = None,
        tolerations: tuple[Toleration, ...] = (),
        required: tuple[Term, ...] | None = None,
        preferred: tuple[WeightedTerm, ...] = (),
        containers: tuple[Container, ...] | None = None,
        overhead: Resources | None = None,
        pod_level: Needs | None = None,
    ) -> Shape:
        """A shape from plain mappings, in one canonical order.

        A pod whose containers are unknown counts as one app container with its requests and no limits, so it is never
        Guaranteed and nothing is pinned for it.
        """
        asks = sorted_amounts(requests)
        return cls(
            asks,
            tuple(sorted((selector or {}).items())),
            tolerations,
            required,
            preferred,
            _as_one(asks) if containers is None else containers,
            sorted_amounts(overhead or {}),
            pod_level,
        )


def _as_one(requests: Amounts) -> tuple[Container, ...]:
    return (Container(requests),) if requests else ()
