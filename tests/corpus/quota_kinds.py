"""ResourceFlavors, ClusterQueues, LocalQueues and Cohorts, good and bad."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.cluster.kinds import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE, RESOURCE_FLAVOR
from corpus.case import About, Case, Raw

LONG = "a" * 254


def quota(name: str = "cpu", nominal: Any = "4", **limits: Any) -> Raw:
    return {"name": name, "nominalQuota": nominal, **limits}


def flavor(name: str = "spot", *quotas: Raw) -> Raw:
    return {"name": name, "resources": list(quotas) or [quota()]}


def group(*flavors: Raw, covers: tuple[str, ...] = ("cpu",)) -> Raw:
    return {"coveredResources": list(covers), "flavors": list(flavors) or [flavor()]}


def largest() -> Raw:
    """256 flavors, 256 resources, 64 checks on 64 flavors, with long names: rules may not cost too much for it."""
    head = "n" * 90
    groups = [
        group(
            *(
                flavor(f"{head}-{g}-{f}", *(quota(f"{head}/{g}-{r}", lendingLimit="1") for r in range(16)))
                for f in range(16)
            ),
            covers=tuple(f"{head}/{g}-{r}" for r in range(16)),
        )
        for g in range(16)
    ]
    names = [one["name"] for made in groups[-4:] for one in made["flavors"]]
    checks = [{"name": f"check-{i}", "onFlavors": names} for i in range(64)]
    return {
        "cohortName": "all",
        "resourceGroups": groups,
        "admissionChecksStrategy": {"admissionChecks": checks},
    }


def many(flavors: int, resources: int, start: int = 0) -> Raw:
    names = [f"r{start}-{i}" for i in range(resources)]
    made = [flavor(f"f{start}-{i}", *map(quota, names)) for i in range(flavors)]
    return group(*made, covers=tuple(names))


def flavors() -> Iterator[Case]:
    rf = About(RESOURCE_FLAVOR, {"spec": {}})
    toleration = {"key": "gpu", "operator": "Equal", "value": "a", "effect": "NoSchedule"}
    taint = {"key": "gpu", "value": "a", "effect": "NoSchedule"}
    yield Case("without a spec", RESOURCE_FLAVOR, {})
    yield rf.good(
        "labels, taints and tolerations", nodeLabels={"a.b/c": "d"}, nodeTaints=[taint], tolerations=[toleration]
    )
    yield rf.good("a topology with labels", nodeLabels={"a": "b"}, topologyName="default")
    yield rf.good("a key with two effects", nodeTaints=[taint, {**taint, "effect": "NoExecute"}])
    yield rf.good("tolerates everything", tolerations=[{"operator": "Exists"}])
    yield rf.good(
        "tolerates for a time",
        tolerations=[{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
    )
    yield rf.bad("nine labels", "spec.nodeLabels", nodeLabels={f"l{i}": "x" for i in range(9)})
    yield rf.bad("a label value with a space", "spec.nodeLabels.a", nodeLabels={"a": "b c"})
    yield rf.bad(
        "a label key with two slashes",
        "spec.nodeLabels.a/b/c",
        nodeLabels={"a/b/c": "d"},
        near="spec.nodeLabels",
        by="rule",
    )
    yield rf.bad("nine taints", "spec.nodeTaints", nodeTaints=[{**taint, "key": f"k{i}"} for i in range(9)])
    yield rf.bad("a taint without an effect", "spec.nodeTaints[0].effect", nodeTaints=[{"key": "a"}])
    yield rf.bad("a taint without a key", "spec.nodeTaints[0].key", nodeTaints=[{"effect": "NoSchedule"}])
    yield rf.bad(
        "a taint with an unknown effect", "spec.nodeTaints[0].effect", nodeTaints=[{**taint, "effect": "Never"}]
    )
    yield rf.bad("a taint with an empty key", "spec.nodeTaints[0].key", nodeTaints=[{**taint, "key": ""}])
    yield rf.bad(
        "a taint value that is no label value", "spec.nodeTaints[0].value", nodeTaints=[{**taint, "value": "a b"}]
    )
    yield rf.bad(
        "a taint twice",
        "spec.nodeTaints[1]",
        near="spec.nodeTaints",
        by="rule",
        nodeTaints=[taint, {**taint, "value": "b"}],
    )
    yield rf.bad("a toleration of a bad key", "spec.tolerations[0].key", tolerations=[{**toleration, "key": "a/b/c"}])
    yield rf.bad("nine tolerations", "spec.tolerations", tolerations=[{**toleration, "key": f"k{i}"} for i in range(9)])
    yield rf.bad(
        "a toleration without a key", "spec.tolerations[0].operator", by="rule", tolerations=[{"operator": "Equal"}]
    )
    yield rf.bad(
        "a toleration of an unknown operator",
        "spec.tolerations[0].operator",
        tolerations=[{**toleration, "operator": "Gt"}],
    )
    yield rf.bad(
        "a toleration of an unknown effect", "spec.tolerations[0].effect", tolerations=[{**toleration, "effect": "X"}]
    )
    yield rf.bad(
        "a toleration of all values with one",
        "spec.tolerations[0].value",
        by="rule",
        tolerations=[{**toleration, "operator": "Exists"}],
    )
    yield rf.bad(
        "a toleration for a time of no eviction",
        "spec.tolerations[0].tolerationSeconds",
        by="rule",
        tolerations=[{**toleration, "tolerationSeconds": 5}],
    )
    yield rf.bad("a topology without labels", "spec.nodeLabels", by="rule", topologyName="default")
    yield rf.bad("a topology with no labels in it", "spec.nodeLabels", by="rule", topologyName="default", nodeLabels={})
    yield rf.bad("a topology name in capitals", "spec.topologyName", nodeLabels={"a": "b"}, topologyName="Default")
    yield rf.bad("an empty topology name", "spec.topologyName", nodeLabels={"a": "b"}, topologyName="")
    yield rf.change("gains a topology", {"nodeLabels": {"a": "b"}}, {"topologyName": "t"})
    with_topology = {"nodeLabels": {"a": "b"}, "topologyName": "t"}
    yield rf.change("exchanges its topology", with_topology, {"topologyName": "u"}, "spec.topologyName")
    yield rf.change("loses its topology", with_topology, {"topologyName": None}, "spec.topologyName")
    yield rf.change("changes the labels of a topology", with_topology, {"nodeLabels": {"a": "c"}})


FILLED: Raw = {
    "queueingStrategy": "BestEffortFIFO",
    "stopPolicy": "None",
    "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
    "preemption": {
        "withinClusterQueue": "Never",
        "reclaimWithinCohort": "Never",
        "borrowWithinCohort": {"policy": "Never"},
    },
}


def cluster_queues() -> Iterator[Case]:
    cq = About(CLUSTER_QUEUE, {"spec": {}})
    yield from of_groups(cq)
    groups = [group(flavor("spot", quota("cpu"), quota("memory", "1Gi")), covers=("cpu", "memory"))]
    checks: Raw = {"admissionChecks": [{"name": "prov", "onFlavors": ["spot"]}]}
    yield Case("without a spec", CLUSTER_QUEUE, {}, kept={"spec": FILLED})
    yield cq.good("with quota", resourceGroups=groups, kept={"resourceGroups": groups, **FILLED})
    yield cq.good(
        "gets what it does not say inside what it says",
        preemption={"reclaimWithinCohort": "Any", "borrowWithinCohort": {"maxPriorityThreshold": 3}},
        flavorFungibility={"whenCanBorrow": "TryNextFlavor"},
        fairSharing={},
        kept={
            **FILLED,
            "fairSharing": {"weight": 1},
            "preemption": {
                "reclaimWithinCohort": "Any",
                "withinClusterQueue": "Never",
                "borrowWithinCohort": {"maxPriorityThreshold": 3, "policy": "Never"},
            },
            "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"},
        },
    )
    yield cq.good(
        "quota in numbers and in texts",
        resourceGroups=[group(flavor("a", quota(nominal=3)), flavor("b", quota(nominal="0.5")))],
        kept={"resourceGroups": [group(flavor("a", quota(nominal=3)), flavor("b", quota(nominal="0.5")))], **FILLED},
    )
    yield cq.good(
        "limits in a cohort",
        cohortName="all",
        resourceGroups=[group(flavor("a", quota(borrowingLimit="1", lendingLimit="4")))],
        kept={
            "cohortName": "all",
            "resourceGroups": [group(flavor("a", quota(borrowingLimit="1", lendingLimit="4")))],
            **FILLED,
        },
    )
    yield cq.good(
        "checks on its flavors",
        resourceGroups=groups,
        admissionChecksStrategy=checks,
        kept={"resourceGroups": groups, "admissionChecksStrategy": checks, **FILLED},
    )
    yield cq.good(
        "checks on flavors while it has none",
        admissionChecksStrategy=checks,
        kept={"admissionChecksStrategy": checks, **FILLED},
    )
    yield cq.good("as large as it may be", **largest(), kept={**largest(), **FILLED})
    yield cq.good("all namespaces", namespaceSelector={}, kept={"namespaceSelector": {}, **FILLED})
    yield cq.good("a weight of nothing", fairSharing={"weight": "0"}, kept={"fairSharing": {"weight": "0"}, **FILLED})
    yield cq.bad(
        "a resource group without flavors",
        "spec.resourceGroups[0].flavors",
        resourceGroups=[{"coveredResources": ["cpu"], "flavors": []}],
    )
    yield cq.bad(
        "a resource group that does not say its flavors",
        "spec.resourceGroups[0].flavors",
        resourceGroups=[{"coveredResources": ["cpu"]}],
    )
    yield cq.bad(
        "a resource group that covers nothing",
        "spec.resourceGroups[0].coveredResources",
        resourceGroups=[{"coveredResources": [], "flavors": [flavor()]}],
    )
    yield cq.bad(
        "a flavor without quota",
        "spec.resourceGroups[0].flavors[0].resources",
        resourceGroups=[group({"name": "spot", "resources": []})],
    )
    yield cq.bad(
        "a flavor that is named in capitals",
        "spec.resourceGroups[0].flavors[0].name",
        resourceGroups=[group(flavor("Spot"))],
    )
    yield cq.bad(
        "a flavor twice in a group",
        "spec.resourceGroups[0].flavors[1]",
        near="spec.resourceGroups[0].flavors[1]",
        resourceGroups=[group(flavor(), flavor())],
    )
    yield cq.bad(
        "a resource with a bad name",
        "spec.resourceGroups[0].coveredResources[0]",
        resourceGroups=[group(flavor("a", quota("a/b/c")), covers=("a/b/c",))],
    )
    yield cq.bad(
        "quota for a resource that is not covered",
        "spec.resourceGroups[0].flavors[0].resources[0].name",
        near="spec.resourceGroups[0].flavors",
        by="rule",
        resourceGroups=[group(flavor("a", quota("memory")))],
    )
    yield cq.bad(
        "no quota for a resource that is covered",
        "spec.resourceGroups[0].flavors[0].resources",
        near="spec.resourceGroups[0].flavors",
        by="rule",
        resourceGroups=[group(covers=("cpu", "memory"))],
    )
    yield cq.bad(
        "quotas in another order",
        "spec.resourceGroups[0].flavors[0].resources",
        near="spec.resourceGroups[0].flavors",
        by="rule",
        resourceGroups=[group(flavor("a", quota("memory"), quota("cpu")), covers=("cpu", "memory"))],
    )
    yield cq.bad(
        "a quota twice",
        "spec.resourceGroups[0].flavors[0].resources[1]",
        resourceGroups=[group(flavor("a", quota(), quota()))],
    )
    yield cq.bad(
        "a quota without an amount",
        "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota",
        resourceGroups=[group(flavor("a", {"name": "cpu"}))],
    )
    for word, amount in (("negative", "-1"), ("negative whole", -1), ("unreadable", "much")):
        yield cq.bad(
            f"a {word} quota",
            "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota",
            resourceGroups=[group(flavor("a", quota(nominal=amount)))],
        )
    for limit in ("borrowingLimit", "lendingLimit"):
        at = f"spec.resourceGroups[0].flavors[0].resources[0].{limit}"
        yield cq.bad(
            f"a negative {limit}", at, cohortName="all", resourceGroups=[group(flavor("a", quota(**{limit: "-1"})))]
        )
    yield cq.bad(
        "lends more than it has",
        "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit",
        by="policy",
        cohortName="all",
        resourceGroups=[group(flavor("a", quota(lendingLimit="5")))],
    )
    yield cq.bad("17 groups", "spec.resourceGroups", resourceGroups=[many(1, 1, i) for i in range(17)])
    yield cq.bad("65 flavors in a group", "spec.resourceGroups[0].flavors", resourceGroups=[many(65, 1)])
    yield cq.bad("65 resources in a group", "spec.resourceGroups[0].coveredResources", resourceGroups=[many(1, 65)])
    yield cq.bad("a cohort in capitals", "spec.cohortName", cohortName="Team")
    yield cq.bad("an empty cohort", "spec.cohortName", cohortName="")
    yield cq.bad("a cohort with a name that is too long", "spec.cohortName", cohortName=LONG)
    yield cq.bad("an unknown strategy", "spec.queueingStrategy", queueingStrategy="FIFO")
    yield cq.bad("an unknown stop policy", "spec.stopPolicy", stopPolicy="Stop")
    yield cq.bad(
        "an old word for borrowing",
        "spec.flavorFungibility.whenCanBorrow",
        flavorFungibility={"whenCanBorrow": "Borrow"},
    )
    yield cq.bad(
        "an old word for preempting",
        "spec.flavorFungibility.whenCanPreempt",
        flavorFungibility={"whenCanPreempt": "Preempt"},
    )
    yield cq.bad("an unknown preference", "spec.flavorFungibility.preference", flavorFungibility={"preference": "Any"})
    yield cq.bad(
        "a preference while a search stops",
        "spec.flavorFungibility.preference",
        by="rule",
        flavorFungibility={"preference": "BorrowingOverPreemption"},
    )
    both = {
        "preference": "BorrowingOverPreemption",
        "whenCanBorrow": "TryNextFlavor",
        "whenCanPreempt": "TryNextFlavor",
    }
    yield cq.good(
        "a preference while both searches go on", flavorFungibility=both, kept={**FILLED, "flavorFungibility": both}
    )
    yield cq.bad(
        "an unknown word for its own", "spec.preemption.withinClusterQueue", preemption={"withinClusterQueue": "Any"}
    )
    yield cq.bad(
        "an unknown word for reclaiming",
        "spec.preemption.reclaimWithinCohort",
        preemption={"reclaimWithinCohort": "All"},
    )
    yield cq.bad(
        "an unknown word for borrowing",
        "spec.preemption.borrowWithinCohort.policy",
        preemption={"borrowWithinCohort": {"policy": "Any"}},
    )
    yield cq.bad(
        "preempts to borrow but does not reclaim",
        "spec.preemption.borrowWithinCohort.policy",
        by="rule",
        preemption={"borrowWithinCohort": {"policy": "LowerPriority"}},
    )
    yield cq.bad(
        "a threshold beyond 32 bits",
        "spec.preemption.borrowWithinCohort.maxPriorityThreshold",
        preemption={"borrowWithinCohort": {"maxPriorityThreshold": 2**31}},
    )
    yield cq.bad(
        "no checks in a strategy",
        "spec.admissionChecksStrategy.admissionChecks",
        admissionChecksStrategy={"admissionChecks": []},
    )
    yield cq.bad(
        "65 checks",
        "spec.admissionChecksStrategy.admissionChecks",
        admissionChecksStrategy={"admissionChecks": [{"name": f"c{i}"} for i in range(65)]},
    )
    yield cq.bad(
        "a check without a name",
        "spec.admissionChecksStrategy.admissionChecks[0].name",
        admissionChecksStrategy={"admissionChecks": [{}]},
    )
    yield cq.bad(
        "a check with an empty name",
        "spec.admissionChecksStrategy.admissionChecks[0].name",
        admissionChecksStrategy={"admissionChecks": [{"name": ""}]},
    )
    yield cq.bad(
        "a check with a name that is too long",
        "spec.admissionChecksStrategy.admissionChecks[0].name",
        admissionChecksStrategy={"admissionChecks": [{"name": "n" * 317}]},
    )
    yield cq.bad(
        "a check twice",
        "spec.admissionChecksStrategy.admissionChecks[1]",
        admissionChecksStrategy={"admissionChecks": [{"name": "a"}, {"name": "a"}]},
    )
    yield cq.bad(
        "a check on a flavor twice",
        "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[1]",
        resourceGroups=groups,
        admissionChecksStrategy={"admissionChecks": [{"name": "a", "onFlavors": ["spot", "spot"]}]},
    )
    yield cq.bad(
        "a check on a flavor of others",
        "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]",
        near="spec.admissionChecksStrategy.admissionChecks",
        by="rule",
        resourceGroups=groups,
        admissionChecksStrategy={"admissionChecks": [{"name": "a", "onFlavors": ["x"]}]},
    )
    for word, weight in (("negative", "-1"), ("negative whole", -2)):
        yield cq.bad(f"a {word} weight", "spec.fairSharing.weight", fairSharing={"weight": weight})
    yield cq.bad("a weight next to nothing", "spec.fairSharing.weight", by="rule", fairSharing={"weight": "1n"})
    yield cq.bad(
        "an unknown way of admission", "spec.admissionScope.admissionMode", admissionScope={"admissionMode": "X"}
    )
    yield cq.bad("a scope that says nothing", "spec.admissionScope.admissionMode", admissionScope={})
    expressions = "spec.namespaceSelector.matchExpressions[0]"
    for word, at, expression in (
        ("an unknown operator", "operator", {"key": "a", "operator": "Gt"}),
        ("a bad key", "key", {"key": "a/b/c", "operator": "Exists"}),
        ("a bad value", "values[0]", {"key": "a", "operator": "In", "values": ["a b"]}),
    ):
        yield cq.bad(
            f"namespaces by {word}", f"{expressions}.{at}", namespaceSelector={"matchExpressions": [expression]}
        )
    yield cq.bad(
        "namespaces in nothing",
        f"{expressions}.values",
        by="rule",
        namespaceSelector={"matchExpressions": [{"key": "a", "operator": "In"}]},
    )
    yield cq.bad(
        "namespaces that have a value",
        f"{expressions}.values",
        by="rule",
        namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
    )
    yield cq.bad(
        "namespaces with a bad label",
        "spec.namespaceSelector.matchLabels.a",
        namespaceSelector={"matchLabels": {"a": "b c"}},
    )
    yield cq.bad(
        "namespaces with a bad key of a label",
        "spec.namespaceSelector.matchLabels.a/b/c",
        near="spec.namespaceSelector.matchLabels",
        by="rule",
        namespaceSelector={"matchLabels": {"a/b/c": "d"}},
    )
    moving = {"migration": {"mode": "TryPreferredFlavors"}}
    yield cq.change(
        "gains a policy of concurrent admission",
        {},
        {"concurrentAdmissionPolicy": moving},
        "spec.concurrentAdmissionPolicy",
    )
    yield cq.change(
        "loses a policy of concurrent admission",
        {"concurrentAdmissionPolicy": moving},
        {"concurrentAdmissionPolicy": None},
        "spec.concurrentAdmissionPolicy",
    )
    yield cq.change("leaves its cohort", {"cohortName": "a"}, {"cohortName": None})
    yield cq.change(
        "loses the flavor of a check",
        {"resourceGroups": groups, "admissionChecksStrategy": checks},
        {"resourceGroups": [group(flavor("other"))]},
        "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]",
        "spec.admissionChecksStrategy.admissionChecks",
    )


def local_queues() -> Iterator[Case]:
    lq = About(LOCAL_QUEUE, {"spec": {"clusterQueue": "main"}})
    yield lq.good("gets a stop policy", kept={"stopPolicy": "None"})
    yield lq.good("gets a weight", fairSharing={}, kept={"stopPolicy": "None", "fairSharing": {"weight": 1}})
    yield Case("without a spec", LOCAL_QUEUE, {}, field="spec.clusterQueue", near="spec")
    yield lq.bad("without a queue", "spec.clusterQueue", clusterQueue=None)
    yield lq.bad("with an empty queue", "spec.clusterQueue", clusterQueue="")
    yield lq.bad("with a queue in capitals", "spec.clusterQueue", clusterQueue="Main")
    yield lq.bad("an unknown stop policy", "spec.stopPolicy", stopPolicy="No")
    yield lq.bad("a negative weight", "spec.fairSharing.weight", fairSharing={"weight": "-1"})
    yield lq.bad("a weight next to nothing", "spec.fairSharing.weight", fairSharing={"weight": "1n"}, by="rule")
    yield lq.change("moves to another queue", {}, {"clusterQueue": "other"}, "spec.clusterQueue")
    yield lq.change("is held", {}, {"stopPolicy": "Hold"})
    yield lq.status("without a share", {"fairSharing": {}}, field="status.fairSharing.weightedShare")


def of_groups(about: About) -> Iterator[Case]:
    """Rules of a group's own that queues and cohorts share."""
    yield about.bad(
        "a flavor in both groups",
        "spec.resourceGroups[1].flavors[0].name",
        near="spec.resourceGroups",
        by="rule",
        resourceGroups=[group(), group(flavor("spot", quota("memory")), covers=("memory",))],
    )
    yield about.bad(
        "a resource in both groups",
        "spec.resourceGroups[1].coveredResources[0]",
        near="spec.resourceGroups",
        by="rule",
        resourceGroups=[group(), group(flavor("other"))],
    )
    yield about.bad(
        "a resource that is covered twice",
        "spec.resourceGroups[0].coveredResources[1]",
        near="spec.resourceGroups[0].coveredResources",
        by="rule",
        resourceGroups=[group(covers=("cpu", "cpu"))],
    )
    yield about.bad("576 quotas in a group", "spec.resourceGroups[0]", by="rule", resourceGroups=[many(64, 9)])
    for word, size in (("flavors", (52, 1)), ("resources", (1, 52))):
        five = [many(*size, i) for i in range(5)]
        yield about.bad(f"260 {word}", "spec.resourceGroups", by="rule", resourceGroups=five)
    for limit in ("borrowingLimit", "lendingLimit"):
        yield about.bad(
            f"a {limit} without a cohort",
            f"spec.resourceGroups[0].flavors[0].resources[0].{limit}",
            near="spec.resourceGroups",
            by="rule",
            resourceGroups=[group(flavor("a", quota(**{limit: "1"})))],
        )


def cohorts() -> Iterator[Case]:
    co = About(COHORT, {"spec": {}})
    yield from of_groups(co)
    yield Case("without a spec", COHORT, {})
    yield co.good(
        "lends more than it has", parentName="root", resourceGroups=[group(flavor("a", quota(lendingLimit="9")))]
    )
    yield co.good("gets a weight", fairSharing={}, kept={"fairSharing": {"weight": 1}})
    yield co.bad("a parent in capitals", "spec.parentName", parentName="Root")
    yield co.bad(
        "quotas in another order",
        "spec.resourceGroups[0].flavors[0].resources",
        near="spec.resourceGroups[0].flavors",
        by="rule",
        resourceGroups=[group(flavor("a", quota("memory"), quota("cpu")), covers=("cpu", "memory"))],
    )
    yield co.bad("a negative weight", "spec.fairSharing.weight", fairSharing={"weight": "-1"})
    yield co.change("moves to another parent", {"parentName": "a"}, {"parentName": "b"})


def cases() -> Iterator[Case]:
    yield from flavors()
    yield from cluster_queues()
    yield from local_queues()
    yield from cohorts()
