"""kube-scheduler's filters about other pods, for the binder: bound pods by kind and node, and why a node is refused.

It is written pod by pod and node by node, without anything of the engine, so that it also checks what the engine
promises. Messages are the scheduler's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from ....model.node import Node
from ....model.pod_rules import PodKind, PodRules, PodTerm, SpreadRule
from ....model.shape import HARD_EFFECTS, Shape
from ...port import Key
from .node_affinity import attracts, meets

PORTS = "node(s) didn't have free ports for the requested pod ports"
AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
KEPT_AWAY = "node(s) didn't satisfy existing pods anti-affinity rules"
SPREAD = "node(s) didn't match pod topology spread constraints"
NO_LABEL = f"{SPREAD} (missing required label)"
NAMED = "node(s) didn't match the requested node name"
ONE_POD = "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"

CLAIM = re.compile(r'PersistentVolumeClaim ("[^"]*")(.*)')
OF_NODES = (
    ("nodeName", NAMED),
    ("volume node affinity conflict", "node(s) had volume node affinity conflict"),
    ("no available volume zone", "node(s) had no available volume zone"),
    ("", "node(s) didn't find available persistent volumes to bind"),
)
"""The message for each cause that excludes single nodes, by its first words."""

Namespaces = Mapping[str, Mapping[str, str]]


class BoundPods:
    """`namespaces` has the labels of each namespace."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self.nodes = nodes
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self._kind_of: dict[Key, tuple[PodKind, str]] = {}
        self._on: dict[PodKind, Counter[str]] = {}
        self._hostile: Counter[PodKind] = Counter()

    def put(self, key: Key, kind: PodKind, node: str) -> bool:
        """Whether the pod was not known to be there."""
        if self._kind_of.get(key) == (kind, node):
            return False
        self.drop(key)
        self._kind_of[key] = kind, node
        self._on.setdefault(kind, Counter())[node] += 1
        self._hostile[kind] += bool(kind.anti)
        return True

    def drop(self, key: Key) -> None:
        found = self._kind_of.pop(key, None)
        if found is None:
            return
        kind, node = found
        pods = self._on[kind]
        pods[node] -= 1
        if not pods[node]:
            del pods[node]
        if not pods:
            del self._on[kind]
        self._hostile[kind] -= bool(kind.anti)
        if not self._hostile[kind]:
            del self._hostile[kind]

    def concern(self, rules: PodRules) -> bool:
        """Whether anything has to be checked for a pod."""
        return rules.asks or bool(rules.alone) or bool(self._hostile)

    def refusal(self, name: str, shape: Shape, rules: PodRules) -> str:
        """The scheduler's message for a node that does not take the pod; "" if it does."""
        node = self.nodes[name]
        if rules.refused:
            return refusal_text(rules.refused)
        for cause, terms in rules.where:
            if not any(meets(node, term) for term in terms):
                return next(text for start, text in OF_NODES if cause.startswith(start))
        if any(
            claim in kind.volumes and kind.namespace == rules.kind.namespace
            for claim in rules.alone
            for kind in self._on
        ):
            return ONE_POD
        if any(
            port.collides(other) for kind in self._kinds_on(name) for other in kind.ports for port in rules.kind.ports
        ):
            return PORTS
        return self._spread(node, shape, rules) or self._between_pods(node, rules)

    def _between_pods(self, node: Node, rules: PodRules) -> str:
        kind, spaces = rules.kind, self.namespaces
        if not self._attracts(node, rules):
            return AFFINITY
        if any(self._selected_in(term, node) for term in kind.anti):
            return ANTI_AFFINITY
        for other in self._hostile:
            for term in other.anti:
                if kind.is_in(term, spaces) and self._pods_in(term.key, node, (other,)):
                    return KEPT_AWAY
        return ""

    def _attracts(self, node: Node, rules: PodRules) -> bool:
        if not rules.affinity:
            return True
        if any(term.key not in node.labels for term in rules.affinity):
            return False
        wanted = [kind for kind in self._on if _in_all(kind, rules.affinity, self.namespaces)]
        if all(self._pods_in(term.key, node, wanted) for term in rules.affinity):
            return True
        anywhere = any(
            term.key in self.nodes[name].labels
            for term in rules.affinity
            for kind in wanted
            for name in self._on[kind]
            if name in self.nodes
        )
        return not anywhere and _in_all(rules.kind, rules.affinity, self.namespaces)

    def _selected_in(self, term: PodTerm, node: Node) -> int:
        return self._pods_in(term.key, node, [kind for kind in self._on if kind.is_in(term, self.namespaces)])

    def _pods_in(self, key: str, node: Node, kinds: Iterable[PodKind]) -> int:
        """Pods of these kinds in the node's domain."""
        value = node.labels.get(key)
        if value is None:
            return 0
        at = (item for kind in kinds for item in self._on.get(kind, Counter()).items())
        return sum(pods for name, pods in at if name in self.nodes and self.nodes[name].labels.get(key) == value)

    def _kinds_on(self, name: str) -> Iterable[PodKind]:
        return (kind for kind, nodes in self._on.items() if nodes[name])

    # Spread

    def _spread(self, node: Node, shape: Shape, rules: PodRules) -> str:
        keys = [rule.key for rule in rules.spread]
        if any(key not in node.labels for key in keys):
            return NO_LABEL
        return next((SPREAD for rule in rules.spread if not self._is_even(node, shape, rules, rule, keys)), "")

    def _is_even(self, node: Node, shape: Shape, rules: PodRules, rule: SpreadRule, keys: list[str]) -> bool:
        counted = [one for one in self.nodes.values() if all(key in one.labels for key in keys)]
        counted = [one for one in counted if _counts(one, shape, rule)]
        kinds = [kind for kind in self._on if kind.is_spread_by(rule, rules.kind.namespace)]
        pods: Counter[str] = Counter({one.labels[rule.key]: 0 for one in counted})
        for one in counted:
            pods[one.labels[rule.key]] += sum(self._on[kind][one.name] for kind in kinds)
        least = 0 if len(pods) < rule.min_domains else min(pods.values(), default=0)
        own = rules.kind.is_spread_by(rule, rules.kind.namespace)
        return pods[node.labels[rule.key]] + own - least <= rule.max_skew


def refusal_text(refused: str) -> str:
    """The scheduler's message for a pod that no node can take."""
    found = CLAIM.fullmatch(refused)
    name, what = ("", "") if found is None else found.groups()
    match what:
        case " does not exist":
            return f"persistentvolumeclaim {name} not found"
        case " is being deleted":
            return f"persistentvolumeclaim {name} is being deleted"
        case " is not bound":
            return "pod has unbound immediate PersistentVolumeClaims"
    return refused


def _counts(node: Node, shape: Shape, rule: SpreadRule) -> bool:
    """Whether a node counts for a spread rule, by its policies."""
    if rule.by_affinity and not attracts(node, shape):
        return False
    hard = (taint for taint in node.taints if taint.effect in HARD_EFFECTS)
    return not rule.by_taints or all(any(one.tolerates(taint) for one in shape.tolerations) for taint in hard)


def _in_all(kind: PodKind, terms: Iterable[PodTerm], namespaces: Namespaces) -> bool:
    return all(kind.is_in(term, namespaces) for term in terms)
