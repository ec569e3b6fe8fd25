"""The placement rules read once more, literally and slowly, to check the engine against.

Every rule is written the way its description has it: one object a domain, plain lists and dicts, everything
recounted for every pod set. It shares only the wire formats with the engine, none of its code, so that a rule
misread by one of them shows as a difference. Where the rules have no single answer it raises `Undefined`. Numbers
have no bounds here, so amounts near the ends of int64 are out of its reach.

    case (a conformance case of a placement suite) ──▶ answer(case) ──▶ [{"assignment": …, "reason": …}, …]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import isclose, log2
from typing import Any, NamedTuple

import msgspec

from closeknit.dialects.core import WirePod, requests
from closeknit.dialects.kueue.keys import IS_GROUP, TOPOLOGY_ANNOTATIONS
from closeknit.model.encoding import decode
from closeknit.model.gates import Gates
from closeknit.model.resources import amounts

HOSTNAME = "kubernetes.io/hostname"
NO_RESULT = "__no_result__"
MOST_PODS = 2**31 - 1

Case = Mapping[str, Any]
Path = tuple[str, ...]
Amounts = dict[str, int]
Answer = dict[str, Any]
Places = list[tuple[Path, int]]


@dataclass(eq=False)
class Domain:
    """A domain with its counts: pods and slices that fit, the same beside a leader (`_l`), leaders that fit."""

    path: Path
    name: str
    children: list[Domain] = field(default_factory=list)
    nodes: list[Case] = field(default_factory=list)
    free: Amounts = field(default_factory=dict)
    used: Amounts = field(default_factory=dict)
    assumed: Amounts = field(default_factory=dict)
    pods: int = 0
    pods_l: int = 0
    slices: int = 0
    slices_l: int = 0
    leader: int = 0
    affinity: int = 0

    @property
    def level(self) -> int:
        return len(self.path) - 1

    def clear(self) -> None:
        self.pods = self.pods_l = self.slices = self.slices_l = self.leader = self.affinity = 0

    def copy(self) -> Domain:
        return replace(self, children=[child.copy() for child in self.children])


class Layer(NamedTuple):
    key: str
    size: int | None


@dataclass(frozen=True)
class Wish:
    """The topology request of a pod set."""

    required: str | None
    preferred: str | None
    unconstrained: bool
    layers: tuple[Layer, ...]


@dataclass(frozen=True)
class Plan:
    """What a wish means in a topology: level and slices by index; `inner` is the group size at deeper levels."""

    level: int
    slice_level: int
    size: int
    layers: tuple[tuple[int, int], ...]
    inner: Mapping[int, int]
    required: bool
    unconstrained: bool


class Failure(Exception):  # noqa: N818 - an answer, not an error
    """No placement; the text says why."""


class Undefined(Exception):  # noqa: N818 - likewise
    """The rules give no single answer: the original crashes here, or leaves it to chance."""


# ---------------------------------------------------------------------------------------------- the cluster


class Cluster:
    """The tree of domains over the nodes that belong to the flavor, with their free room and their usage."""

    def __init__(self, case: Case) -> None:
        self.levels: list[str] = case["levels"]
        self.by_host = self.levels[-1] == HOSTNAME
        self.gates = Gates.profile("kueue", case.get("featureGates") or {})
        self.empty = bool(case.get("simulateEmpty"))
        self.domains: list[dict[Path, Domain]] = [{} for _ in self.levels]
        leaf_of_node: dict[str, Domain] = {}
        for node in case.get("nodes") or ():
            if self._belongs(node, case.get("nodeLabels") or {}):
                leaf_of_node[node["metadata"]["name"]] = self._add(node)
        for wire in case.get("pods") or ():
            pod = msgspec.convert(wire, WirePod)
            leaf = leaf_of_node.get(pod.spec.node_name or "")
            by_topology = any(key in TOPOLOGY_ANNOTATIONS for key in pod.metadata.annotations or ())
            if leaf is not None and pod.status.phase not in ("Failed", "Succeeded") and not by_topology:
                _charge(leaf.free, requests(pod.spec), -1)
        for entry in self._usage(case):
            leaf = self.leaf(tuple(entry["Values"]))
            if leaf is not None:
                _charge(leaf.used, entry["SinglePodRequests"] or {}, entry["Count"])

    def _belongs(self, node: Case, flavor: Mapping[str, str]) -> bool:
        labels = node["metadata"].get("labels") or {}
        conditions = (node.get("status") or {}).get("conditions") or ()
        ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
        cordoned = bool((node.get("spec") or {}).get("unschedulable"))
        matches = all(labels.get(key) == value for key, value in flavor.items())
        return ready and not cordoned and matches and all(key in labels for key in self.levels)

    def _add(self, node: Case) -> Domain:
        values = tuple(node["metadata"]["labels"][key] for key in self.levels)
        siblings: list[Domain] = []
        for level, domains in enumerate(self.domains):
            path = values[: level + 1]
            if path not in domains:
                is_host = self.by_host and level == len(self.levels) - 1
                domains[path] = Domain(path, path[-1] if is_host else ",".join(path))
                siblings.append(domains[path])
            siblings = domains[path].children
        leaf = self.domains[-1][values]
        leaf.nodes.append(node)
        for name, amount in amounts(node["status"].get("allocatable") or {}).items():
            leaf.free[name] = leaf.free.get(name, 0) + amount
        return leaf

    def _usage(self, case: Case) -> list[Any]:
        shared = self.by_host and "TASHandleOverlappingFlavors" in self.gates
        if shared and (case.get("priorFlavorUsage") or "aggregatedDomainUsages" in case):
            return [*(case.get("aggregatedDomainUsages") or ()), *(case.get("priorFlavorUsage") or ())]
        return case.get("priorOwnUsage") or []

    @property
    def leaves(self) -> list[Domain]:
        return list(self.domains[-1].values())

    def leaf(self, values: Path) -> Domain | None:
        """The leaf that an assignment or a usage entry names: by hostname alone, or by its whole path."""
        name = values[-1] if self.by_host else ",".join(values)
        return next((leaf for leaf in self.leaves if leaf.name == name), None)

    def remaining(self, leaf: Domain) -> Amounts:
        left = dict(leaf.free)
        for taken in (leaf.assumed,) if self.empty else (leaf.used, leaf.assumed):
            for name, amount in taken.items():
                left[name] = left.get(name, 0) - amount
        return left

    def assume(self, places: Places, asks: Amounts) -> None:
        for path, count in places:
            _charge(self.domains[-1][path].assumed, asks, count)


def _charge(account: Amounts, asks: Amounts, count: int) -> None:
    for name, amount in {**asks, "pods": 1}.items():
        account[name] = account.get(name, 0) + amount * count


def fit(asks: Amounts, room: Amounts) -> tuple[int, str]:
    """How many pods fit, and the resource that limits them; ties go to the first name."""
    bounds = []
    for name, amount in {**asks, "pods": 1}.items():
        bound = MOST_PODS if amount == 0 else max(0, room.get(name, 0) // amount)
        bounds.append((min(bound, MOST_PODS), name))
    return min(bounds)


# ------------------------------------------------------------------------------------------ the node filter


def refusal(pod_set: Case, node: Case) -> str | None:
    """Why pods of this set may not run on this node; the first rule that fails, as messages name it."""
    for taint in (node.get("spec") or {}).get("taints") or ():
        hard = taint["effect"] in ("NoSchedule", "NoExecute")
        if hard and not any(_tolerates(one, taint) for one in pod_set["tolerations"] or ()):
            value = taint.get("value")
            return f'taint "{taint["key"]}{"=" + value if value else ""}:{taint["effect"]}"'
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (pod_set["nodeSelector"] or {}).items()):
        return "nodeSelector"
    required = (pod_set["nodeAffinity"] or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None and not any(_matches(term, node) for term in required["nodeSelectorTerms"] or ()):
        return "affinity"
    return None


def preference(pod_set: Case, node: Case) -> int:
    terms = (pod_set["nodeAffinity"] or {}).get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return sum(term["weight"] for term in terms if _matches(term["preference"], node))


def _tolerates(toleration: Case, taint: Case) -> bool:
    key, value = toleration.get("key") or "", toleration.get("value") or ""
    if (toleration.get("effect") or taint["effect"]) != taint["effect"] or (key or taint["key"]) != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    taint_value = taint.get("value") or ""
    if operator == "Equal":
        return bool(value == taint_value)
    return _greater(value, taint_value) if operator == "Lt" else _greater(taint_value, value)


def _greater(left: str, right: str) -> bool:
    return left.lstrip("-").isdigit() and right.lstrip("-").isdigit() and int(left) > int(right)


def _matches(term: Case, node: Case) -> bool:
    labels: Mapping[str, str] = node["metadata"].get("labels") or {}
    by_label = [_admits(one, labels.get(one["key"])) for one in term.get("matchExpressions") or ()]
    by_field = [_admits(one, node["metadata"]["name"]) for one in term.get("matchFields") or ()]
    return bool(by_label or by_field) and all(by_label) and all(by_field)


def _admits(expression: Case, value: str | None) -> bool:
    values: Sequence[str] = expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and _greater(value, values[0])
        case _:
            return value is not None and _greater(values[0], value)


# ---------------------------------------------------------------------------------------------- the request


def wish(pod_set: Case) -> Wish:
    asked: Mapping[str, Any] = pod_set["topologyRequest"] or {}
    layers: tuple[Layer, ...] = ()
    if asked.get("podsetSliceRequiredTopologyConstraints"):
        layers = tuple(Layer(one["topology"], one["size"]) for one in asked["podsetSliceRequiredTopologyConstraints"])
    elif asked.get("podSetSliceRequiredTopology") is not None:
        layers = (Layer(asked["podSetSliceRequiredTopology"], asked.get("podSetSliceSize")),)
    required, preferred, free = asked.get("required"), asked.get("preferred"), asked.get("unconstrained")
    implied = required is None and preferred is None and free is None and not layers
    return Wish(required, preferred, bool(free) or implied, layers)


def plan(wanted: Wish, levels: list[str]) -> Plan:
    """The request in terms of this topology; fails if they do not go together."""
    lowest = len(levels) - 1
    first = wanted.layers[0] if wanted.layers else Layer(levels[lowest], 1)
    if first.size is None:
        raise Failure("slice topology requested, but slice size not provided")
    slices_alone = bool(wanted.layers) and not wanted.required and not wanted.preferred
    key = wanted.required or wanted.preferred
    if not key and slices_alone:
        key = levels[0]
    if not key and wanted.unconstrained:
        key = levels[lowest]
    if not key:
        raise Failure("topology level not specified")
    if key not in levels:
        raise Failure(f"no requested topology level: {key}")
    if first.key not in levels:
        raise Failure(f"no requested topology level for slices: {first.key}")
    if levels.index(key) > levels.index(first.key):
        raise Failure(f"podset slice topology {first.key} is above the podset topology {key}")
    layers, inner = [(levels.index(first.key), first.size)], {}
    for layer in wanted.layers[1:]:
        above, size = layers[-1]
        if layer.key not in levels:
            raise Failure(f"no requested topology level for additional slice layer: {layer.key}")
        level = levels.index(layer.key)
        if level <= above:
            raise Failure(f"additional slice layer topology {layer.key} must be at a lower level than {levels[above]}")
        assert layer.size is not None
        if size % layer.size:
            raise Failure(f"additional slice layer size {layer.size} must evenly divide parent layer size {size}")
        inner.update(dict.fromkeys(range(above + 1, level + 1), layer.size))
        layers.append((level, layer.size))
    unconstrained = wanted.unconstrained or slices_alone
    level = levels.index(key)
    return Plan(level, layers[0][0], first.size, tuple(layers), inner, bool(wanted.required), unconstrained)


# ------------------------------------------------------------------------------------------------- placing


class Search:
    """Places one pod set, or the workers of a group with their leader, in a cluster."""

    def __init__(self, cluster: Cluster, workers: Case, wanted: Wish, count: int, leader: Case | None) -> None:
        self.cluster, self.workers, self.leader, self.count = cluster, workers, leader, count
        self.plan = plan(wanted, cluster.levels)
        self.leaders = 0 if leader is None else 1
        self.need = count // self.plan.size
        self.by_affinity = "TASRespectNodeAffinityPreferred" in cluster.gates
        self.best_fit = not (self.plan.unconstrained and "TASProfileMixed" in cluster.gates)
        self.excluded: Counter[str] = Counter()

    def run(self, within: str = "") -> tuple[Places, Places]:
        """Where the workers and the leader go, in the order of paths."""
        self._count(within)
        balanced = self._balanced()
        leaves = self._descend(*balanced, pooled=False) if balanced else self._descend(*self._choose(), pooled=True)
        leaves.sort(key=lambda leaf: leaf.path)
        workers = [(leaf.path, leaf.pods) for leaf in leaves if leaf.pods > 0]
        return workers, [(leaf.path, 1) for leaf in leaves if leaf.leader > 0]

    # Phase 1: counts, from the leaves up.

    def _count(self, within: str) -> None:
        for leaf in self.cluster.leaves:
            leaf.clear()
            self._count_leaf(leaf, within)
        for top in self.cluster.domains[0].values():
            self._roll_up(top, self.plan.inner)

    def _count_leaf(self, leaf: Domain, within: str) -> None:
        if self.cluster.by_host:
            refused = refusal(self.workers, leaf.nodes[0])
            if refused:
                self.excluded[refused] += 1
                return
            if self.by_affinity:
                leaf.affinity = preference(self.workers, leaf.nodes[0])
        whole = ",".join(leaf.path)
        if within and whole != within and not whole.startswith(within + ","):
            self.excluded["topologyDomain"] += 1
            return
        room = self.cluster.remaining(leaf)
        leaf.pods, limit = fit(self.workers["requests"] or {}, room)
        leaf.pods_l = leaf.pods
        if leaf.pods == 0:
            self.excluded[f'resource "{limit}"'] += 1
        if self.leader is not None and fit(self.leader["requests"] or {}, room)[0] > 0:
            leaf.leader = 1
            _charge(room, self.leader["requests"] or {}, -1)
            leaf.pods_l = fit(self.workers["requests"] or {}, room)[0]

    def _roll_up(self, domain: Domain, inner: Mapping[int, int]) -> None:
        """Counts of a domain from those of its children.

        Beside a leader, a domain loses what its least disturbed child loses: children of 5 and 4 pods that hold
        3 and 4 beside a leader are 9 pods together, and 9 beside a leader.
        """
        if domain.children:
            for child in domain.children:
                self._roll_up(child, inner)
            z = inner.get(domain.level + 1, 1)
            pods = {child: child.pods // z * z for child in domain.children}
            pods_l = {child: child.pods_l // z * z for child in domain.children}
            hosts = [child for child in domain.children if child.leader > 0 or not self.leaders]
            domain.pods = sum(pods.values())
            domain.slices = sum(child.slices for child in domain.children)
            domain.leader = max(child.leader for child in domain.children)
            domain.affinity = sum(child.affinity for child in domain.children)
            domain.pods_l = domain.slices_l = 0
            if hosts:
                domain.pods_l = domain.pods - min(pods[child] - pods_l[child] for child in hosts)
                domain.slices_l = domain.slices - min(child.slices - child.slices_l for child in hosts)
        if domain.level == self.plan.slice_level:
            domain.slices = domain.pods // self.plan.size
            domain.slices_l = domain.pods_l // self.plan.size
        elif domain.level > self.plan.slice_level:
            domain.slices = domain.slices_l = 0

    # Orders.

    def _order(self, domains: Iterable[Domain], best_fit: bool, with_leader: bool = False) -> list[Domain]:
        sign = -1 if best_fit else 1

        def key(one: Domain) -> tuple[Any, ...]:
            affinity = -one.affinity if self.by_affinity else 0
            if with_leader:
                return -one.leader, affinity, sign * one.slices_l, one.pods_l, one.path
            return 0, affinity, sign * one.slices, one.pods, one.path

        return sorted(domains, key=key)

    def _tightest(self, domains: Sequence[Domain], need: int, leaders: int, slices: bool = True) -> Domain:
        """The domain with least room that still holds `need`, the first of equals; without one, the first of all."""
        if self.by_affinity:
            end = next((i for i, one in enumerate(domains) if one.affinity != domains[0].affinity), len(domains))
            domains = domains[:end]
        fitting = [one for one in domains if one.leader >= leaders and _room(one, leaders > 0, slices) >= need]
        return min(fitting, key=lambda one: _room(one, leaders > 0, slices), default=domains[0])

    def _leader_first(self, domains: list[Domain], need: int, leaders: int, slices: bool) -> list[Domain]:
        """The first domain that can take the leader and still leave room for all workers goes to the front."""
        total = sum(_room(one, False, slices) for one in domains)
        for one in domains if leaders and len(domains) > 1 else ():
            penalty = _room(one, False, slices) - _room(one, True, slices)
            if one.leader >= leaders and total - penalty >= need:
                return [one, *(other for other in domains if other is not one)]
        return domains

    # Phase 2a: the level and the domains.

    def _choose(self) -> tuple[int, list[Domain]]:
        level = self.plan.level
        while True:
            domains = self._order(self.cluster.domains[level].values(), self.best_fit, with_leader=True)
            if not domains:
                raise Failure(f"no topology domains at level: {self.cluster.levels[level]}")
            fitting = [i for i, one in enumerate(domains) if self._holds_all(one)]
            if fitting and not self.best_fit:
                return level, [domains[fitting[0]]]
            if fitting and fitting[0] == 0:
                return level, [self._tightest(domains, self.need, self.leaders)]
            if self.plan.required:
                if fitting and self.by_affinity:
                    return level, [self._tightest(domains[fitting[0] :], self.need, self.leaders)]
                raise self._no_room(domains[0].slices, level)
            if self.plan.unconstrained or level == 0:
                return level, self._spread(domains, level)
            level -= 1

    def _holds_all(self, domain: Domain) -> bool:
        return domain.slices_l >= self.need and domain.leader >= self.leaders

    def _spread(self, domains: list[Domain], level: int) -> list[Domain]:
        tail, taken = self._leader_first(domains, self.need, self.leaders, True), []
        need, leaders = self.need, self.leaders
        while leaders > 0 and tail and tail[0].leader > 0:
            one = tail[0]
            if self.best_fit and one.slices_l >= need:
                one = self._tightest(tail, need, leaders)
            tail = tail[1:]
            taken.append(one)
            leaders -= one.leader
            need -= one.slices_l
        if leaders > 0:
            raise self._no_room(self.need - need, level)
        tail = self._order(tail, self.best_fit)
        while need > 0 and tail:
            one = tail[0]
            if self.best_fit and one.slices >= need:
                one = self._tightest(tail, need, 0)
            tail = tail[1:]
            taken.append(one)
            need -= one.slices
        if need > 0:
            raise self._no_room(self.need - need, level)
        return taken

    # Phase 2b: down to the leaves.

    def _descend(self, level: int, chosen: list[Domain], pooled: bool) -> list[Domain]:
        size, lowest = self.plan.size, len(self.cluster.levels) - 1
        if pooled:
            chosen = self._minimise(chosen, self.count, self.leaders, size, True)
            while level < self.plan.slice_level:
                pool = [child for parent in chosen for child in parent.children]
                chosen = self._minimise(self._order(pool, self.best_fit), self.count, self.leaders, size, True)
                level += 1
        while level < lowest:
            z = size if level < self.plan.slice_level else self.plan.inner.get(level + 1, 1)
            chosen = [child for parent in chosen for child in self._share_out(parent, z)]
            level += 1
        return chosen

    def _share_out(self, parent: Domain, z: int) -> list[Domain]:
        children = self._order(parent.children, self.best_fit)
        if z > 1:
            for child in children:
                child.slices, child.slices_l = child.pods // z, child.pods_l // z
        return self._minimise(children, parent.pods, parent.leader, z, z > 1)

    def _minimise(self, domains: list[Domain], count: int, leaders: int, z: int, slices: bool) -> list[Domain]:
        """Few domains that hold it all, with what each of them gets; none if it does not all fit."""
        need = count // z if slices else count
        tail, taken = self._leader_first(domains, need, leaders, slices), []
        while tail:
            one, beside = tail[0], leaders > 0
            if self.best_fit and _room(one, beside, slices) >= need and one.leader >= leaders:
                one = self._tightest(tail, need, leaders, slices)
            tail = tail[1:]
            taken.append(one)
            room = _room(one, beside, slices)
            done = room >= need and one.leader >= leaders
            share = min(room, need)
            one.leader = min(one.leader, leaders)
            one.pods = one.pods_l = share * z
            one.slices = one.slices_l = share
            need -= share
            leaders -= one.leader
            if done:
                return taken
        return []

    # Balanced placement.

    def _balanced(self) -> tuple[int, list[Domain]] | None:
        """Members with equal shares, at their level; None where the plain rules have to do."""
        if "TASBalancedPlacement" not in self.cluster.gates or self.plan.required or self.plan.unconstrained:
            return None
        if self.need == 0:
            raise Undefined("nothing to balance: fewer pods than a slice")
        best, fewest, chosen = 0, 0, list[Domain]()
        for siblings in self._sibling_sets():
            copies = [one.copy() for one in siblings]
            low = [child for one in copies for child in one.children] if self._goes_lower else copies
            greedy = self._greedy(low)
            if greedy is None:
                continue
            threshold = min(self.need // greedy.used, *greedy.lasts)
            again = min(threshold, greedy.with_leader)
            if threshold < best:
                continue
            members = self._pruned(siblings, threshold)
            greedy = self._greedy(members)
            if greedy is None and 0 < again < threshold and again >= best:
                threshold, members = again, self._pruned(siblings, again)
                greedy = self._greedy(members)
            if greedy is not None and (threshold > best or (threshold == best and greedy.used < fewest)):
                best, fewest, chosen = threshold, greedy.used, members
        if best == 0:
            return None
        return self._balance(chosen, best)

    @property
    def _goes_lower(self) -> bool:
        return self.plan.level < self.plan.slice_level

    def _sibling_sets(self) -> Iterator[list[Domain]]:
        if self.plan.level == 0:
            yield list(self.cluster.domains[0].values())
            return
        for _, parent in sorted(self.cluster.domains[self.plan.level - 1].items()):
            yield parent.children

    def _greedy(self, domains: Sequence[Domain]) -> Greedy | None:
        """The domains that taking the largest first would use; None if all of them are not enough."""
        tail, lasts, used = self._order(domains, True, with_leader=True), [], 0
        need, leaders, last = self.need, self.leaders, None
        while leaders > 0 and tail and tail[0].leader > 0:
            last, used = tail.pop(0), used + 1
            leaders, need = leaders - last.leader, need - last.slices_l
        if last is not None:
            lasts.append(last.slices_l)
        tail, last = self._order(tail, True), None
        while need > 0 and tail and tail[0].slices > 0:
            last, used = tail.pop(0), used + 1
            need -= last.slices
        if last is not None:
            lasts.append(last.slices)
        if leaders > 0 or need > 0:
            return None
        with_leader = last.slices_l if last is not None and self.leaders else MOST_PODS
        return Greedy(used, tuple(lasts), with_leader)

    def _pruned(self, siblings: Sequence[Domain], threshold: int) -> list[Domain]:
        """Copies in which no domain that cannot hold the threshold offers anything."""
        members = [one.copy() for one in siblings]
        for member in members:
            for child in member.children:
                _prune(child, threshold)
            self._roll_up(member, {})
            _prune(member, threshold)
        return members

    def _balance(self, members: list[Domain], threshold: int) -> tuple[int, list[Domain]] | None:
        level = self.plan.level
        if self._goes_lower:
            members = [child for one in self._most_even(members) for child in one.children]
            level += 1
        members = self._optimal(sorted(members, key=lambda one: one.path))
        surplus, leaders = self.need - len(members) * threshold, self.leaders
        if not members or surplus < 0:
            return None
        for one in self._order(members, True, with_leader=True):
            beside = leaders > 0
            extra = min(surplus, (one.slices_l if beside else one.slices) - threshold)
            surplus -= extra
            one.leader = min(one.leader, leaders)
            leaders -= one.leader
            one.slices = one.slices_l = threshold + extra
            one.pods = one.slices * self.plan.size
            one.pods_l = one.pods - one.leader
        return None if surplus > 0 or leaders > 0 else (level, members)

    def _most_even(self, members: list[Domain]) -> list[Domain]:
        """The optimal subset, evenly filled members first."""
        members = sorted(members, key=lambda one: (-one.leader, -one.slices_l, -entropy(one), one.path))
        chosen = self._optimal(members)
        if any(_toss_up(one, two) for one, two in pairwise(members)):
            members.reverse()
            other = sorted(members, key=lambda one: (-one.leader, -one.slices_l, -round(entropy(one), 9)))
            if set(self._optimal(other)) != set(chosen):
                raise Undefined("which of two equal entropies is larger is a matter of rounding, and it matters")
        return chosen

    def _optimal(self, domains: Sequence[Domain]) -> list[Domain]:
        """As many domains as greedy uses, wasting the fewest pods; none if no such choice holds everything."""
        greedy = self._greedy(domains)
        if greedy is None:
            return []
        paths: list[dict[tuple[int, int], list[Domain]]] = [{} for _ in range(greedy.used + 1)]
        paths[0][self.leaders, self.need * self.plan.size] = []
        for one in domains:
            for used in range(greedy.used - 1, -1, -1):
                for (leaders, pods), path in sorted(paths[used].items(), key=lambda item: item[0]):
                    if leaders <= 0 and pods <= 0:
                        continue
                    if leaders > 0 and one.leader > 0:
                        paths[used + 1].setdefault((leaders - one.leader, pods - one.pods_l), [*path, one])
                    if one.slices > 0:
                        paths[used + 1].setdefault((leaders, pods - one.pods), [*path, one])
        ends = [(pods, path) for (leaders, pods), path in paths[-1].items() if leaders == 0 and pods <= 0]
        return max(ends, key=lambda end: end[0])[1] if ends else []

    # Words.

    def _no_room(self, fits: int, level: int) -> Failure:
        topology, layers = 'topology "default"', self.plan.layers
        unit = "pod" if self.plan.size == 1 else "slice"
        if len(layers) > 1:
            best = min(self.cluster.domains[level].values(), key=lambda one: (-one.slices, one.name))
            text = f"{topology} doesn't allow to fit"
            for at, size in layers:
                have = sum(one.pods // size for one in _below(best, at))
                text += f"; {have}/{self.count // size} slice(s) fit on level {self.cluster.levels[at]}"
        elif fits > 0:
            text = f"{topology} allows to fit only {fits} out of {self.need} {unit}(s)"
        else:
            text = f"{topology} doesn't allow to fit any of {self.need} {unit}(s)"
        if self.excluded:
            causes = ", ".join(sorted(f"{cause}: {count}" for cause, count in self.excluded.items()))
            text += f". Total nodes: {len(self.cluster.leaves)}; excluded: {causes}"
        return Failure(text)


class Greedy(NamedTuple):
    """Domains used; slices in the last with a leader and the last without; in the latter beside a leader."""

    used: int
    lasts: tuple[int, ...]
    with_leader: int


def _room(domain: Domain, beside_leader: bool, slices: bool) -> int:
    if slices:
        return domain.slices_l if beside_leader else domain.slices
    return domain.pods_l if beside_leader else domain.pods


def _below(domain: Domain, level: int) -> Iterator[Domain]:
    if domain.level == level:
        yield domain
    for child in domain.children:
        yield from _below(child, level)


def _prune(domain: Domain, threshold: int) -> None:
    if domain.slices < threshold:
        _offer_nothing(domain, ("pods", "slices", "pods_l", "slices_l", "leader"))
    elif domain.leader > 0 and domain.slices_l < threshold:
        _offer_nothing(domain, ("pods_l", "slices_l", "leader"))


def _offer_nothing(domain: Domain, counts: Sequence[str]) -> None:
    for count in counts:
        setattr(domain, count, 0)
    for child in domain.children:
        _offer_nothing(child, counts)


def _entropy_terms(domain: Domain) -> list[float]:
    pods = [child.pods for child in sorted(domain.children, key=lambda child: child.path) if child.pods > 0]
    return [-count / sum(pods) * log2(count / sum(pods)) for count in pods]


def entropy(domain: Domain) -> float:
    """How evenly a domain's pods lie over its children, in bits."""
    return sum(_entropy_terms(domain))


def _toss_up(one: Domain, two: Domain) -> bool:
    """Whether the order in which children are summed decides which entropy is larger; some orders are tried."""
    sums = set()
    for terms in (_entropy_terms(one), _entropy_terms(two)):
        orders = [terms[at:] + terms[:at] for at in range(len(terms))] + [sorted(terms)]
        sums |= {sum(order) for order in orders} | {sum(reversed(order)) for order in orders}
    return len(sums) > 1 and isclose(entropy(one), entropy(two), rel_tol=1e-9)


# --------------------------------------------------------------------------------------- a whole workload


def answer(case: Case) -> list[Answer]:
    """What becomes of each pod set of the case."""
    cluster = Cluster(case)
    workload = case.get("workload") or {}
    unhealthy = (workload.get("status") or {}).get("unhealthyNodes") or []
    said: dict[str, Answer] = {}
    if unhealthy:
        _replace_all(case, cluster, workload, unhealthy[0]["name"], said)
    else:
        for group in _groups(case["podSets"]):
            if not _place_group(cluster, group, said):
                break
    nothing = {"assignment": None, "reason": NO_RESULT}
    return [said.get(pod_set["podSetName"] or "", nothing) for pod_set in case["podSets"]]


def _groups(pod_sets: Sequence[Case]) -> list[list[Case]]:
    groups: dict[str, list[Case]] = {}
    for index, pod_set in enumerate(pod_sets):
        groups.setdefault(pod_set["podSetGroupName"] or f" {index}", []).append(pod_set)
    return list(groups.values())


def roles(group: Sequence[Case]) -> tuple[Case, Case | None]:
    """Workers and leader: the smaller is the leader, the second of equals."""
    if len(group) == 1:
        return group[0], None
    first, second = group
    return (second, first) if first["count"] < second["count"] else (first, second)


def _place_group(cluster: Cluster, group: list[Case], said: dict[str, Answer]) -> bool:
    workers, leader = roles(group)
    elastic = "ElasticJobsViaWorkloadSlicesWithTAS" in cluster.gates and _may_stay(cluster, workers, leader)
    try:
        placed = (_resize if elastic else _place)(cluster, workers, workers["count"], leader)
    except Failure as failure:
        for one in [workers] if elastic else group:
            said[one["podSetName"] or ""] = {"assignment": None, "reason": str(failure)}
        return False
    for pod_set, places in zip((workers, leader), placed, strict=True):
        if pod_set is not None:
            said[pod_set["podSetName"] or ""] = _shown(cluster, places)
    return True


def _place(cluster: Cluster, workers: Case, count: int, leader: Case | None) -> tuple[Places, Places]:
    """Places workers and leader, and takes their room from what comes after them."""
    placed, placed_leader = Search(cluster, workers, wish(workers), count, leader).run()
    cluster.assume(placed, workers["requests"] or {})
    if leader is not None:
        cluster.assume(placed_leader, leader["requests"] or {})
    return placed, placed_leader


def _shown(cluster: Cluster, places: Places) -> Answer:
    levels = [HOSTNAME] if cluster.by_host else cluster.levels
    domains = [{"Values": list(path[-len(levels) :]), "Count": count} for path, count in places]
    return {"assignment": {"Levels": list(levels), "Domains": domains}, "reason": ""}


# --------------------------------------------------------------------------------- elastic and replacement


def _may_stay(cluster: Cluster, workers: Case, leader: Case | None) -> bool:
    """Whether the workers were somewhere before, and no place of theirs or the leader's has vanished."""
    before = [one["previousAssignment"] for one in (workers, leader) if one is not None]
    places = [values for wire in before if wire for values in decode(wire).values]
    return bool(before[0]) and all(cluster.leaf(values) is not None for values in places)


def _located(cluster: Cluster, domains: Iterable[tuple[Path, int]]) -> Places:
    """Domains by their whole path."""
    found = [(cluster.leaf(values), count) for values, count in domains]
    return [(leaf.path, count) for leaf, count in found if leaf is not None]


def _merge(*parts: Places) -> Places:
    total: Counter[Path] = Counter()
    for part in parts:
        for path, count in part:
            total[path] += count
    return sorted(total.items())


def _resize(cluster: Cluster, workers: Case, count: int, leader: Case | None) -> tuple[Places, Places]:
    """A running pod set grows or shrinks: what stays is kept, only what is new is placed."""
    kept, left = Places(), count
    for path, pods in _located(cluster, decode(workers["previousAssignment"]).domains):
        if left > 0:
            kept.append((path, min(pods, left)))
            left -= pods
    cluster.assume(kept, workers["requests"] or {})
    kept_leader, new_leader = Places(), leader
    if leader is not None and leader["previousAssignment"]:
        kept_leader, new_leader = _located(cluster, decode(leader["previousAssignment"]).domains), None
        cluster.assume(kept_leader, leader["requests"] or {})
    if left > 0:
        added, added_leader = _place(cluster, workers, left, new_leader)
        return _merge(kept, added), kept_leader + added_leader
    if new_leader is not None:
        raise Undefined("a leader without a previous assignment beside workers that keep theirs")
    return kept, kept_leader


def _replace_all(case: Case, cluster: Cluster, workload: Case, node: str, said: dict[str, Answer]) -> None:
    assigned = {one["name"]: one for one in workload["status"]["admission"]["podSetAssignments"]}
    cluster.empty = False
    for pod_set in case["podSets"]:
        name = pod_set["podSetName"] or ""
        existing = list(decode(assigned[name]["topologyAssignment"]).domains)
        if _owned_by_pod(workload) and "SkipReassignmentForPodOwnedWorkloads" in cluster.gates:
            values = [{"Values": list(values), "Count": count} for values, count in existing]
            said[name] = {"assignment": {"Levels": [HOSTNAME], "Domains": values}, "reason": ""}
            continue
        try:
            kept, moved = _replacement(cluster, pod_set, existing, node)
        except Failure as failure:
            said[name] = {"assignment": None, "reason": str(failure)}
            return
        said[name] = _shown(cluster, _merge(kept, moved))
        cluster.assume(moved, pod_set["requests"] or {})


def _owned_by_pod(workload: Case) -> bool:
    meta = workload["metadata"]
    owners = [(one["apiVersion"], one["kind"]) for one in meta.get("ownerReferences") or ()]
    return owners == [("v1", "Pod")] and (meta.get("annotations") or {}).get(IS_GROUP) != "true"


def _replacement(cluster: Cluster, pod_set: Case, existing: list[tuple[Path, int]], node: str) -> tuple[Places, Places]:
    """The places kept, and those that take over the pods of the failed node."""
    kept = [(values, count) for values, count in existing if values[-1] != node]
    moving = sum(count for _, count in existing) - sum(count for _, count in kept)
    for values, _ in kept:
        if cluster.leaf(values) is None:
            raise Failure(
                "Cannot replace the node, because the existing topologyAssignment is invalid, "
                f"as it contains the stale domain {values[-1]}"
            )
    wanted, places = wish(pod_set), _located(cluster, kept)
    outcomes = [_moved(cluster, pod_set, wanted, moving, home) for home in homes(cluster, wanted, places, moving)]
    if any(outcome != outcomes[0] for outcome in outcomes):
        raise Undefined("several domains have an incomplete slice, and it matters which one is taken")
    moved = outcomes[0]
    if isinstance(moved, str):
        raise Failure(moved)
    if not moved:
        raise Failure(f"cannot find replacement assignment for unhealthy node: {node}")
    return places, moved


def _moved(cluster: Cluster, pod_set: Case, wanted: Wish, moving: int, within: str) -> Places | str:
    """New places for the pods of the failed node inside a domain ("": anywhere), or why there are none."""
    if within and wanted.layers and _breaks(wanted.layers[0], moving):
        whole = [layer for layer in wanted.layers if not _breaks(layer, moving)]
        wanted = replace(wanted, layers=tuple(whole[-1:]))
    try:
        return Search(cluster, pod_set, wanted, moving, None).run(within)[0]
    except Failure as failure:
        return str(failure)


def _breaks(layer: Layer, count: int) -> bool:
    return bool(layer.size) and count % (layer.size or 1) != 0


def homes(cluster: Cluster, wanted: Wish, kept: Places, moving: int) -> list[str]:
    """The domain that the pods of a failed node are bound to, "" for none; one is taken at random of several."""
    if kept and wanted.layers and _breaks(wanted.layers[0], moving):
        broken = [layer for layer in wanted.layers if _breaks(layer, moving)][-1]
        if broken.key not in cluster.levels:
            return [""]
        level, counts = cluster.levels.index(broken.key), Counter[Path]()
        for path, count in kept:
            counts[path[: level + 1]] += count
        paths = [path for path, count in counts.items() if not _breaks(broken, count + moving)]
        return [cluster.domains[level][path].name for path in paths] or [""]
    if kept and wanted.required in cluster.levels:
        level = cluster.levels.index(wanted.required)
        return [cluster.domains[level][kept[0][0][: level + 1]].name]
    return [""]
