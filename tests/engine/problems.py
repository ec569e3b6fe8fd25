"""Random placement problems in the form of conformance cases, without expected answers.

`problem(seed)` draws a small cluster, some usage and the pod sets of one workload, and always the same for the
same seed. Clusters are small and tight, because that is where rules meet: sizes are drawn near what fits, names
are drawn so that hosts and their paths sort differently, and a part of everything is wrong. Left out is what has
no single answer from the start: two nodes with one hostname, and replacement where the lowest level is no host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

from closeknit.dialects.kueue.keys import IS_GROUP, LAYERS, REQUIRED
from closeknit.model.assignment import Assignment
from closeknit.model.encoding import encode
from closeknit.model.resources import amounts

HOSTNAME = "kubernetes.io/hostname"
UPPER_LEVELS = ("example.com/hall", "example.com/block", "example.com/row", "example.com/rack")
RESOURCES = ("cpu", "memory", "example.com/gpu", "example.com/nic")
UNKNOWN_LEVEL = "example.com/none"

Wire = dict[str, Any]


def problem(seed: int) -> Wire:
    return Draw(seed).case()


class Draw:
    """One problem in the making."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.mess = self.random.choice((0.0, 0.3, 1.0, 1.0, 4.0))
        self.kind = self.random.choices(("plain", "elastic", "replace"), (60, 18, 22))[0]
        self.theme = self.random.choice(("anything", "anything", "balanced", "groups", "layers"))
        by_host = self.kind == "replace" or self.chance(0.75)
        upper = self.random.randint(0 if by_host else 1, 4)
        keys = sorted(self.random.sample(range(len(UPPER_LEVELS)), upper))
        self.levels = [UPPER_LEVELS[key] for key in keys] + [HOSTNAME] * by_host
        self.by_host = by_host
        self.resources = self.random.sample(RESOURCES, self.random.choices((1, 2, 3), (60, 30, 10))[0])
        self.flavor = {"pool": "tas"} if self.chance(0.4) else {}
        self.gates = self.draw_gates()
        self.nodes = self.draw_nodes()

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def odd(self, share: float) -> bool:
        """A chance for something out of the ordinary: none in a tidy cluster, frequent in a messy one."""
        return self.chance(share * self.mess)

    def case(self) -> Wire:
        pod_sets = self.draw_pod_sets()
        case: Wire = {
            "name": f"problem-{self.seed}-{self.theme}-{self.kind}",
            "featureGates": self.gates,
            "levels": self.levels,
            "nodeLabels": self.flavor or None,
            "nodes": self.nodes,
            "pods": [self.draw_pod() for _ in range(self.random.choice((0, 0, 0, 1, 2, 5)))],
            "priorOwnUsage": self.draw_usage(),
            "podSets": pod_sets,
        }
        if self.chance(0.12):
            case["priorFlavorUsage"] = self.draw_usage()
        if self.chance(0.12):
            case["simulateEmpty"] = True
        if self.kind == "replace":
            self.break_node(case)
        return case

    # The cluster.

    def draw_gates(self) -> dict[str, bool]:
        gates = {}
        if self.theme == "balanced" or self.chance(0.15):
            gates["TASBalancedPlacement"] = True
        if self.chance(0.2):
            gates["TASProfileMixed"] = False
        if self.chance(0.25):
            gates["TASRespectNodeAffinityPreferred"] = True
        if self.chance(0.1):
            gates["TASHandleOverlappingFlavors"] = False
        if self.kind == "elastic" and self.chance(0.9):
            gates |= {"ElasticJobsViaWorkloadSlices": True, "ElasticJobsViaWorkloadSlicesWithTAS": True}
        if self.kind == "replace" and self.chance(0.1):
            gates["SkipReassignmentForPodOwnedWorkloads"] = self.chance(0.5)
        return gates

    def draw_nodes(self) -> list[Wire]:
        """Nodes under a random tree; most are alike, so that ties and exact fits are common."""
        paths: list[tuple[str, ...]] = [()]
        for level in range(len(self.levels)):
            last = level == len(self.levels) - 1
            widest = {1: 12, 2: 5}.get(len(self.levels), 5 if last else 3)
            width, grown = self.random.randint(1, widest), []
            for path in paths:
                breadth = self.random.randint((width + 1) // 2, width)
                for number in self.random.sample(range(1, width + 3), breadth):
                    value = f"{'hbrxn'[level]}{self.random.choice(('', '', '-'))}{number}"
                    grown.append((*path, "" if self.odd(0.01) else value))
            paths = list(dict.fromkeys(grown))
        paths = self.random.sample(paths, 0 if self.odd(0.002) else min(len(paths), 40))
        if self.by_host:
            names = self.random.sample(range(1, 200), len(paths))
            paths = [(*path[:-1], f"x{name}") for path, name in zip(paths, names, strict=True)]
        else:
            paths = [path for path in paths for _ in range(self.random.randint(1, 2))]
        usual = self.draw_allocatable()
        nodes = [self.draw_node(number, path, usual) for number, path in enumerate(paths)]
        self.random.shuffle(nodes)
        return nodes

    def draw_allocatable(self) -> Wire:
        some: Wire = {name: self.draw_quantity(name) for name in self.resources}
        some["pods"] = str(self.random.choice((10, 5, 3, 1, 0)) if self.odd(0.15) else 110)
        for name in (*self.resources, "pods"):
            if self.odd(0.02):
                del some[name]
        return some

    def draw_quantity(self, name: str) -> str:
        if self.odd(0.005):
            return self.random.choice(("1Ti", "5T"))
        number = 0 if self.odd(0.05) else self.random.choice((1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 9, 12, 16))
        if name == "cpu":
            return self.random.choice((str(number), f"{number * 1000 + 500}m"))
        return f"{number}Gi" if name == "memory" else str(number)

    def draw_node(self, number: int, path: tuple[str, ...], usual: Wire) -> Wire:
        labels = dict(zip(self.levels, path, strict=True))
        labels |= {"zone": self.random.choice("ab"), "gen": self.random.choice("123"), **self.flavor}
        if self.flavor and self.odd(0.05):
            labels["pool"] = "other"
        if self.odd(0.03):
            del labels[self.random.choice(self.levels)]
        spec: Wire = {"unschedulable": True} if self.odd(0.05) else {}
        if self.odd(0.1):
            spec["taints"] = [self.draw_taint() for _ in range(self.random.randint(1, 2))]
        return {
            "metadata": {"name": f"n{number}", "labels": labels},
            "spec": spec,
            "status": {
                "allocatable": usual if self.chance(0.5) else self.draw_allocatable(),
                "conditions": [{"type": "Ready", "status": "False" if self.odd(0.06) else "True"}],
            },
        }

    def draw_taint(self) -> Wire:
        taint = {
            "key": self.random.choice(("dedicated", "dedicated", "slow")),
            "effect": self.random.choice(("NoSchedule", "NoExecute", "PreferNoSchedule")),
        }
        value = self.random.choice(("x", "", "5"))
        return {**taint, "value": value} if value else taint

    def draw_pod(self) -> Wire:
        """A pod that is not ours: bound or not, ended or not, sometimes with an annotation that hides it."""
        wants = {name: self.draw_quantity(name) for name in self.resources}
        container = {"name": "c", "resources": {self.random.choice(("requests", "limits")): wants}}
        metadata: Wire = {"name": "p", "namespace": "default"}
        if self.chance(0.2):
            metadata["annotations"] = {self.random.choice((REQUIRED, LAYERS, "other")): "x"}
        spec: Wire = {"containers": [container]}
        if self.nodes and self.chance(0.9):
            spec["nodeName"] = self.random.choice(self.nodes)["metadata"]["name"]
        if self.chance(0.2):
            spec["initContainers"] = [{**container, "name": "i"}]
        phase = self.random.choice(("Running", "Running", "Pending", "Succeeded", "Failed"))
        return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}

    def draw_usage(self) -> list[Wire]:
        share = self.random.choice((0, 0, 0.1, 0.3, 0.6))
        usage = []
        for values in self.places():
            if self.chance(share):
                if self.odd(0.03):
                    values = (*values[:-1], "gone")
                count = self.random.choice((1, 1, 2, 2, 3, 9))
                usage.append({"Values": list(values), "Count": count, "SinglePodRequests": self.draw_requests()})
        return usage

    def places(self) -> list[tuple[str, ...]]:
        """The domains that assignments can name, in the order of their paths."""
        found = set()
        for node in self.nodes:
            labels = node["metadata"]["labels"]
            if all(key in labels for key in self.levels):
                found.add(tuple(labels[key] for key in self.levels))
        return [path[-1:] if self.by_host else path for path in sorted(found)]

    # The pod sets.

    def draw_pod_sets(self) -> list[Wire]:
        sets: list[Wire] = []
        for number in range(self.random.choices((1, 2, 3), (70, 22, 8))[0]):
            if self.chance(0.9 if self.theme == "groups" else 0.2):
                sets += self.draw_group(number)
            else:
                sets.append(self.draw_pod_set(f"ps{number}"))
        return sets

    def draw_group(self, number: int) -> list[Wire]:
        workers = self.draw_pod_set(f"workers{number}")
        leader = self.draw_pod_set(f"leader{number}", 1)
        if self.chance(0.15):
            workers["count"] = leader["count"] = 2 if self.odd(0.05) else 1
        if self.chance(0.7):
            leader["topologyRequest"] = workers["topologyRequest"]
        group = [leader, workers]
        self.random.shuffle(group)
        if self.odd(0.01):
            group.pop()
        return [{**one, "podSetGroupName": f"group{number}"} for one in group]

    def draw_pod_set(self, name: str, count: int | None = None) -> Wire:
        asks, request = self.draw_requests(), self.draw_request()
        if count is None:
            count = self.draw_count(asks, self.slice_size(request))
        return {
            "podSetName": name,
            "count": count,
            "requests": asks,
            "topologyRequest": request,
            "tolerations": self.draw_tolerations(),
            "nodeSelector": {"zone": self.random.choice("ab")} if self.odd(0.06) else None,
            "nodeAffinity": self.draw_affinity(),
            "podSetGroupName": None,
            "previousAssignment": self.draw_previous(count) if self.kind == "elastic" else None,
            "wantAssignment": None,
            "wantReason": "",
        }

    def draw_requests(self) -> dict[str, int]:
        asks = {}
        for name in self.resources:
            number = 0 if self.odd(0.05) else self.random.choice((1, 1, 1, 1, 2, 2, 3))
            unit = {"cpu": self.random.choice((250, 500, 1000, 1000)), "memory": 2**30}.get(name, 1)
            asks[name] = 2 ** self.random.choice((30, 35, 40)) if self.odd(0.003) else number * unit
        if self.odd(0.1) and asks:
            del asks[self.random.choice(list(asks))]
        if self.odd(0.01):
            asks["example.com/unheard-of"] = self.random.randint(0, 1)
        return asks

    def draw_count(self, asks: Mapping[str, int], size: int) -> int:
        """Near what a few domains of some level hold, mostly whole slices."""
        key, held = self.random.choice(self.levels), Counter[str]()
        for node in self.nodes:
            held[node["metadata"]["labels"].get(key, "")] += self.holds(node, asks)
        most = sum(self.random.sample(sorted(held.values()), min(len(held), self.random.randint(1, 3))))
        count = max(1, min(most, 80) - self.random.choice((-1, 0, 0, 1, 2, 3, 5)))
        if self.chance(0.2):
            count = self.random.randint(1, count)
        return count if self.chance(0.1) else max(1, count // size) * size

    def holds(self, node: Wire, asks: Mapping[str, int]) -> int:
        room = amounts(node["status"]["allocatable"])
        return min(room.get(name, 0) // ask for name, ask in {**asks, "pods": 1}.items() if ask)

    def draw_request(self) -> Wire | None:
        wishes = ("preferred", "required", "unconstrained", "slices", "nothing")
        weights = (85, 4, 4, 4, 3) if self.theme == "balanced" else (25, 25, 20, 20, 10)
        wish = self.random.choices(wishes, weights)[0]
        if wish == "nothing":
            return self.random.choice((None, None, None, {"podIndexLabel": "i"}, {"unconstrained": False}))
        top = self.random.randrange(len(self.levels))
        if wish == "required":
            top = self.random.randrange(top + 1)
        request: Wire = {}
        if wish in ("preferred", "required"):
            request[wish] = UNKNOWN_LEVEL if self.odd(0.01) else self.levels[top]
        elif wish == "unconstrained":
            request[wish] = True
        elif self.odd(0.05):
            request["unconstrained"] = False
        if wish == "required" and self.odd(0.03):
            request["preferred"] = self.random.choice(self.levels)
        if wish in ("unconstrained", "slices") or self.odd(0.03):
            top = 0
        sliced = 0.9 if self.theme == "layers" else 0.15 if wish == "unconstrained" else 0.5
        if wish == "slices" or self.chance(sliced):
            self.add_slices(request, top)
        return request

    def add_slices(self, request: Wire, top: int) -> None:
        level, size = self.random.randrange(top, len(self.levels)), self.random.choice((1, 2, 2, 3, 4, 4, 6, 8))
        if self.chance(0.2 if self.theme == "layers" else 0.6):
            request["podSetSliceRequiredTopology"] = UNKNOWN_LEVEL if self.odd(0.02) else self.levels[level]
            if not self.odd(0.02):
                request["podSetSliceSize"] = size
            return
        layers = [{"topology": self.levels[level], "size": size}]
        while level < len(self.levels) - 1 and len(layers) < 3 and self.chance(0.8):
            level = self.random.randrange(level + 1, len(self.levels))
            size = self.random.choice([part for part in range(1, size + 1) if size % part == 0])
            layers.append({"topology": self.levels[level], "size": size})
        if self.odd(0.03):
            wrong = self.random.choice(layers)
            wrong["topology"] = self.random.choice((*self.levels, UNKNOWN_LEVEL))
        if self.odd(0.02):
            self.random.choice(layers)["size"] = self.random.randint(1, 9)
        request["podsetSliceRequiredTopologyConstraints"] = layers

    def slice_size(self, request: Wire | None) -> int:
        asked = request or {}
        layers = asked.get("podsetSliceRequiredTopologyConstraints")
        size: int = layers[0]["size"] if layers else asked.get("podSetSliceSize", 1)
        return size

    def draw_tolerations(self) -> list[Wire] | None:
        if not self.chance(0.2):
            return None
        operator = self.random.choice(("Exists", "Equal", None, "Gt", "Lt"))
        toleration: Wire = {"key": "dedicated"} if operator != "Exists" or self.chance(0.7) else {}
        if operator:
            toleration["operator"] = operator
        if operator != "Exists":
            toleration["value"] = self.random.choice(("4", "6")) if operator in ("Gt", "Lt") else "x"
        if self.chance(0.4):
            toleration["effect"] = self.random.choice(("NoSchedule", "NoExecute"))
        return [toleration]

    def draw_affinity(self) -> Wire | None:
        affinity: Wire = {}
        if self.odd(0.05):
            terms = [self.draw_term() for _ in range(self.random.randint(0, 2))]
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
        if self.chance(0.7 if "TASRespectNodeAffinityPreferred" in self.gates else 0.05):
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": self.random.randint(1, 3), "preference": self.draw_term()}
                for _ in range(self.random.randint(1, 2))
            ]
        return affinity or None

    def draw_term(self) -> Wire:
        key = self.random.choice(("zone", "gen", "gen", "none", *self.levels))
        operator = self.random.choice(("In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
        expression: Wire = {"key": "gen" if operator in ("Gt", "Lt") else key, "operator": operator}
        if operator in ("Gt", "Lt"):
            expression["values"] = ["2"]
        elif operator in ("In", "NotIn"):
            known = {node["metadata"]["labels"].get(key) for node in self.nodes} - {None}
            expression["values"] = self.random.sample(sorted(map(str, known)), min(len(known), 2)) or ["a"]
        if self.nodes and self.chance(0.1):
            name = self.random.choice(self.nodes)["metadata"]["name"]
            return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
        return {"matchExpressions": [expression]} if not self.chance(0.03) else {}

    # What was there before.

    def draw_previous(self, count: int) -> Wire | None:
        if self.chance(0.12):
            return None
        before = self.random.choice((count, max(1, count - self.random.randint(1, 6)), count + 2))
        return self.assigned(self.spread_over(before, self.places()))

    def spread_over(self, count: int, places: list[tuple[str, ...]]) -> list[tuple[tuple[str, ...], int]]:
        """Pods over some of the places, in their order; now and then one of them does not exist."""
        chosen = self.random.sample(places, min(len(places), count, self.random.randint(1, 4)))
        if not chosen or self.odd(0.04):
            chosen.append(("gone",) if self.by_host else ("gone",) * len(self.levels))
        pods = [1] * len(chosen)
        for _ in range(count - len(chosen)):
            pods[self.random.randrange(len(pods))] += 1
        order = {values: index for index, values in enumerate(places)}
        return sorted(zip(chosen, pods, strict=True), key=lambda pair: order.get(pair[0], -1))

    def assigned(self, domains: list[tuple[tuple[str, ...], int]]) -> Wire:
        return encode(Assignment.of([HOSTNAME] if self.by_host else self.levels, domains), self.chance(0.5))

    def break_node(self, case: Wire) -> None:
        """Make the workload one that was admitted, and fail a node that all its pod sets have pods on."""
        path_of = {node["metadata"]["labels"].get(HOSTNAME): node["metadata"]["labels"] for node in self.nodes}
        places = self.places()
        failed = self.random.choice(places)[-1] if places else "gone"
        assigned, kept = [], []
        for pod_set in case["podSets"]:
            near = self.random.choice(self.levels)
            home = path_of.get(failed, {}).get(near)
            close = [place for place in places if path_of[place[-1]][near] == home or self.chance(0.1)]
            domains = dict(self.spread_over(pod_set["count"], close if self.chance(0.8) else places))
            if self.chance(0.95) and (failed,) not in domains:
                domains[(failed,)] = domains.pop(self.random.choice(list(domains)))
            order = {values: index for index, values in enumerate(places)}
            wire = self.assigned(sorted(domains.items(), key=lambda pair: order.get(pair[0], -1)))
            assigned.append({"name": pod_set["podSetName"], "count": pod_set["count"], "topologyAssignment": wire})
            kept += [values[-1] for values in domains if values[-1] != failed]
        self.fail(case, failed)
        unhealthy = [{"name": failed}, *({"name": name} for name in kept[:1] if self.chance(0.1))]
        metadata: Wire = {"name": "wl", "namespace": "default"}
        if self.chance(0.06):
            owner = {"apiVersion": "v1", "kind": self.random.choice(("Pod", "Pod", "Other")), "name": "p"}
            metadata["ownerReferences"] = [owner] * self.random.choice((1, 1, 2))
            metadata["annotations"] = {IS_GROUP: self.random.choice(("true", "false"))}
        admission = {"clusterQueue": "cq", "podSetAssignments": assigned}
        case["workload"] = {"metadata": metadata, "status": {"admission": admission, "unhealthyNodes": unhealthy}}

    def fail(self, case: Wire, host: str) -> None:
        """The node is gone, unready, tainted, or in fact as it was."""
        node = next((one for one in self.nodes if one["metadata"]["labels"].get(HOSTNAME) == host), None)
        if node is None:
            return
        match self.random.choice(("gone", "unready", "unready", "tainted", "usable")):
            case "gone":
                case["nodes"] = [one for one in self.nodes if one is not node]
            case "unready":
                node["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
            case "tainted":
                node["spec"]["taints"] = [{"key": "broken", "effect": "NoExecute"}]
