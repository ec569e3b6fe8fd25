"""Workloads, good and bad: what jobs ask for, and what controllers write about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.cluster.kinds import WORKLOAD
from corpus.case import About, Case, Enforcer, Raw, Step

TEMPLATE: Raw = {"spec": {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "1"}}}]}}
SET: Raw = {"name": "main", "count": 2, "template": TEMPLATE}
SPEC: Raw = {"active": False, "podSets": [SET]}
TIME = "2026-01-01T00:00:00Z"
WPC = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
PC = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}

wl = About(WORKLOAD, {"spec": SPEC})


def pod_set(**more: Any) -> Raw:
    return {"podSets": [{**SET, **more}]}


def asked(**request: Any) -> Raw:
    return pod_set(topologyRequest=request)


def true(*types: str) -> list[Raw]:
    return [{"type": one, "status": "True", "reason": one, "message": "", "lastTransitionTime": TIME} for one in types]


def assigned(**more: Any) -> Raw:
    one = {"name": "main", "count": 2, "flavors": {"cpu": "spot"}, "resourceUsage": {"cpu": "2"}, **more}
    return {"clusterQueue": "main", "podSetAssignments": [one]}


RESERVED: Raw = {"conditions": true("QuotaReserved"), "admission": assigned()}
ADMITTED: Raw = {"conditions": true("QuotaReserved", "Admitted"), "admission": assigned()}


def specs() -> Iterator[Case]:
    bare = {"podSets": [{"template": TEMPLATE}]}
    yield wl.good(
        "gets a name, a count and that it is active",
        active=None,
        **bare,
        kept={"active": True, "podSets": [{"template": TEMPLATE, "name": "main", "count": 1}]},
    )
    yield wl.good("no pods", **pod_set(count=0))
    yield Case("without a spec", WORKLOAD, {}, field="spec.podSets", near="spec")
    yield wl.bad("without pod sets", "spec.podSets", podSets=None)
    yield wl.bad("no pod set", "spec.podSets", podSets=[])
    yield wl.bad("19 pod sets", "spec.podSets", podSets=[{**SET, "name": f"s{i}"} for i in range(19)])
    yield wl.bad("a pod set twice", "spec.podSets[1]", podSets=[SET, SET])
    yield wl.bad("a pod set without a template", "spec.podSets[0].template", podSets=[{"name": "main", "count": 1}])
    yield wl.bad("a pod set in capitals", "spec.podSets[0].name", **pod_set(name="Main"))
    yield wl.bad("a pod set with a long name", "spec.podSets[0].name", **pod_set(name="a" * 64))
    yield wl.bad("fewer than no pods", "spec.podSets[0].count", **pod_set(count=-1))
    yield wl.bad("starts with none", "spec.podSets[0].minCount", **pod_set(minCount=0))
    yield wl.bad("starts with more than all", "spec.podSets[0].minCount", by="rule", **pod_set(minCount=3))
    two = [{**SET, "name": name, "minCount": 1} for name in ("a", "b")]
    yield wl.bad("two that start with fewer", "spec.podSets[1].minCount", near="spec.podSets", by="rule", podSets=two)
    yield wl.bad("a queue in capitals", "spec.queueName", queueName="Team")
    yield wl.bad("an empty queue", "spec.queueName", queueName="")
    yield wl.bad("a priority beyond 32 bits", "spec.priority", priority=2**31)
    yield wl.bad("no time to run", "spec.maximumExecutionTimeSeconds", maximumExecutionTimeSeconds=0)
    yield wl.bad("nine gates", "spec.preemptionGates", preemptionGates=[{"name": f"g{i}"} for i in range(9)])
    yield wl.bad("an empty gate", "spec.preemptionGates[0].name", preemptionGates=[{"name": ""}])
    yield wl.bad("a gate without a name", "spec.preemptionGates[0].name", preemptionGates=[{}])
    yield wl.bad("active, in words", "spec.active", active="yes")
    yield wl.good("a class of workloads", priority=5, priorityClassRef=WPC)
    yield wl.good("a class of pods", priority=5, priorityClassRef=PC)
    yield wl.bad("a class without a priority", "spec.priorityClassRef", by="rule", priorityClassRef=WPC)
    mixed = {**WPC, "kind": "PriorityClass"}
    yield wl.bad("a class of the wrong group", "spec.priorityClassRef", by="rule", priority=5, priorityClassRef=mixed)
    for key, word in (("group", "example.com"), ("kind", "Class"), ("name", "High")):
        at = f"spec.priorityClassRef.{key}"
        yield wl.bad(f"a class with a bad {key}", at, priority=5, priorityClassRef={**WPC, key: word})
    yield wl.bad(
        "a class without a name",
        "spec.priorityClassRef.name",
        priority=5,
        priorityClassRef={"group": WPC["group"], "kind": WPC["kind"]},
    )


def topology_requests() -> Iterator[Case]:
    at = "spec.podSets[0].topologyRequest"
    yield wl.good("all in a rack", **asked(required="rack"))
    yield wl.good("slices", **asked(podSetSliceRequiredTopology="rack", podSetSliceSize=2))
    yield wl.good("layers", **asked(podsetSliceRequiredTopologyConstraints=[{"topology": "rack", "size": 2}]))
    long = "l" * 64
    for key, value in (
        ("required", long),
        ("preferred", long),
        ("podSetGroupName", "g" * 257),
        ("podIndexLabel", "l" * 318),
        ("subGroupIndexLabel", "l" * 318),
        ("subGroupCount", -1),
    ):
        yield wl.bad(f"a bad {key}", f"{at}.{key}", **asked(**{key: value}))
    yield wl.bad("slices of no level", f"{at}.podSetSliceSize", by="rule", **asked(podSetSliceSize=2))
    yield wl.bad(
        "slices of no size", f"{at}.podSetSliceRequiredTopology", by="rule", **asked(podSetSliceRequiredTopology="rack")
    )
    yield wl.bad(
        "slices of no pods", f"{at}.podSetSliceSize", **asked(podSetSliceRequiredTopology="rack", podSetSliceSize=0)
    )
    layers = f"{at}.podsetSliceRequiredTopologyConstraints"
    four = [{"topology": f"l{i}", "size": 8 >> i} for i in range(4)]
    yield wl.bad("four layers", layers, **asked(podsetSliceRequiredTopologyConstraints=four))
    yield wl.bad(
        "a layer of no level",
        f"{layers}[0].topology",
        **asked(podsetSliceRequiredTopologyConstraints=[{"topology": "", "size": 1}]),
    )
    yield wl.bad(
        "a layer of no pods",
        f"{layers}[0].size",
        **asked(podsetSliceRequiredTopologyConstraints=[{"topology": "rack", "size": 0}]),
    )


def templates() -> Iterator[Case]:
    def with_container(**resources: Any) -> Raw:
        return pod_set(template={"spec": {"containers": [{"name": "c", "image": "i:1", "resources": resources}]}})

    news = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "fromTheFuture": {"deep": [1, {"er": True}]}}}
    yield wl.good("a template with an unknown field", **pod_set(template=news))
    at = "spec.podSets[0].template"
    named = {**TEMPLATE, "metadata": {"labels": {"a": "b c"}}}
    yield wl.bad("a template with a bad label", f"{at}.metadata.labels.a", by="policy", **pod_set(template=named))
    noted = {**TEMPLATE, "metadata": {"annotations": {"a/b/c": "d"}}}
    yield wl.bad(
        "a template with a bad annotation", f"{at}.metadata.annotations.a/b/c", by="policy", **pod_set(template=noted)
    )
    resources = f"{at}.spec.containers[0].resources"
    yield wl.bad("asks for pods", f"{resources}.requests.pods", by="policy", **with_container(requests={"pods": "1"}))
    yield wl.bad("is limited in pods", f"{resources}.limits.pods", by="policy", **with_container(limits={"pods": "1"}))
    spec = TEMPLATE["spec"]
    for key, title in (("containers", "asks"), ("initContainers", "asks first")):
        begins = [{"name": "b", "image": "i:1", "resources": {"limits": {"pods": "1"}}}]
        body = {"spec": {**spec, key: [*spec["containers"], *begins] if key == "containers" else begins}}
        index = 1 if key == "containers" else 0
        yield wl.bad(
            f"{title} for pods in another container",
            f"{at}.spec.{key}[{index}].resources.limits.pods",
            by="policy",
            **pod_set(template=body),
        )
    whole = {"spec": {**spec, "resources": {"requests": {"pods": "1"}}}}
    yield wl.bad(
        "asks for pods as a whole", f"{at}.spec.resources.requests.pods", by="policy", **pod_set(template=whole)
    )
    yield wl.bad(
        "asks for less than nothing", f"{resources}.requests.cpu", by="policy", **with_container(requests={"cpu": "-1"})
    )


def elastic() -> Iterator[Case]:
    marked = {"metadata": {"annotations": {"kueue.x-k8s.io/elastic-job": "true"}}}
    gated = {"metadata": {"annotations": {"kueue.x-k8s.io/admission-gated-by": "example.com/a,example.com/b"}}}
    fewer = {"spec": {**SPEC, **pod_set(minCount=1)}}
    reserve = Step({"status": RESERVED}, "status")
    less, more = Step({"spec": pod_set(count=1)}), Step({"spec": pod_set(count=3)})
    body = {"spec": SPEC}
    yield Case("elastic, with fewer", WORKLOAD, {**fewer, **marked}, field="spec.podSets[0].minCount", by="policy")
    yield Case("elastic, shrinks while quota is reserved", WORKLOAD, {**body, **marked}, (reserve, less))
    yield Case(
        "elastic, grows while quota is reserved",
        WORKLOAD,
        {**body, **marked},
        (reserve, more),
        "spec.podSets",
        by="rule",
    )
    yield Case(
        "not elastic, shrinks while quota is reserved", WORKLOAD, body, (reserve, less), "spec.podSets", by="policy"
    )
    gate = "metadata.annotations.kueue.x-k8s.io/admission-gated-by"
    named = "kueue.x-k8s.io/admission-gated-by"
    yield Case(
        "loses a gate of admission",
        WORKLOAD,
        {**body, **gated},
        (Step({"metadata": {"annotations": {named: "example.com/a"}}}),),
    )
    yield Case(
        "gains a gate of admission",
        WORKLOAD,
        body,
        (Step({"metadata": {"annotations": {named: "example.com/a"}}}),),
        gate,
        by="policy",
    )


def reserved() -> Iterator[Case]:
    """What may change once quota is reserved."""

    def change(
        title: str,
        after: Raw,
        field: str = "",
        before: Raw | None = None,
        status: Raw = RESERVED,
        by: Enforcer = "rule",
    ) -> Case:
        steps = (Step({"status": status}, "status"), Step({"spec": after}))
        return Case(title, WORKLOAD, {"spec": {**SPEC, **(before or {})}}, steps, field, by=by)

    other = {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}
    with_wpc, with_pc = {"priority": 5, "priorityClassRef": WPC}, {"priority": 5, "priorityClassRef": PC}
    yield change("reserved: another template", pod_set(template=other), "spec.podSets")
    yield change("reserved: another name", pod_set(name="other"), "spec.podSets")
    yield change("reserved: another topology", asked(required="rack"), "spec.podSets")
    yield change("reserved: another pod set", {"podSets": [SET, {**SET, "name": "b"}]}, "spec.podSets")
    yield change("reserved: the same pod sets", pod_set())
    yield change("reserved: another queue", {"queueName": "b"}, "spec.queueName", {"queueName": "a"})
    yield change("reserved: gains a queue", {"queueName": "b"}, "spec.queueName")
    yield change("reserved: gains a class", with_wpc, "spec.priorityClassRef")
    yield change("reserved: loses its class", {"priorityClassRef": None}, "spec.priorityClassRef", with_wpc)
    yield change(
        "reserved: another class of workloads", {"priority": 6, "priorityClassRef": {"name": "low"}}, before=with_wpc
    )
    yield change(
        "reserved: another class of pods", {"priorityClassRef": {"name": "low"}}, "spec.priorityClassRef.name", with_pc
    )
    yield change("reserved: another sort of class", {"priorityClassRef": PC}, "spec.priorityClassRef.group", with_wpc)
    yield change("reserved: another priority", {"priority": 7})
    yield change("reserved: another time limit", {"maximumExecutionTimeSeconds": 5})
    yield change(
        "admitted: another time limit",
        {"maximumExecutionTimeSeconds": 5},
        "spec.maximumExecutionTimeSeconds",
        status=ADMITTED,
    )
    yield wl.change("waiting: another template", {}, pod_set(template=other))
    yield wl.change("waiting: another queue", {"queueName": "a"}, {"queueName": "b"})


def statuses() -> Iterator[Case]:
    at = "status.admission.podSetAssignments"
    yield wl.status("reserved", RESERVED)
    yield wl.status(
        "reserved without an admission", {"conditions": true("QuotaReserved")}, field="status.admission", by="rule"
    )
    empty = {**RESERVED, "admission": {"clusterQueue": "main", "podSetAssignments": []}}
    yield wl.status("reserved for no pod set", empty, field=at, by="rule")
    yield wl.status(
        "an assignment of a stranger",
        {**RESERVED, "admission": assigned(name="x")},
        field=f"{at}[0].name",
        near=at,
        by="rule",
    )
    yield wl.status(
        "an assignment of a bad flavor", {"admission": assigned(flavors={"cpu": "Spot"})}, field=f"{at}[0].flavors.cpu"
    )
    yield wl.status(
        "a usage that pods cannot share",
        {"admission": assigned(resourceUsage={"memory": "3"})},
        field=f"{at}[0].resourceUsage.memory",
        by="policy",
    )
    yield wl.status(
        "a usage of half a thousandth each",
        {"admission": assigned(resourceUsage={"cpu": "3m"})},
        field=f"{at}[0].resourceUsage.cpu",
        by="policy",
    )
    yield wl.status(
        "a usage that pods can share", {"admission": assigned(resourceUsage={"cpu": "2500m", "memory": "3Gi"})}
    )
    yield wl.status(
        "a negative usage",
        {"admission": assigned(resourceUsage={"memory": "-2"})},
        field=f"{at}[0].resourceUsage.memory",
    )
    yield wl.status("a negative count", {"admission": assigned(count=-1)}, field=f"{at}[0].count")
    yield wl.status(
        "an unknown state of topology",
        {"admission": assigned(delayedTopologyRequest="Soon")},
        field=f"{at}[0].delayedTopologyRequest",
    )
    yield wl.status(
        "another queue in an admission",
        RESERVED,
        {"admission": {"clusterQueue": "other"}},
        field="status.admission",
        by="rule",
    )
    yield wl.status(
        "another usage in an admission",
        RESERVED,
        {"admission": assigned(resourceUsage={"cpu": "4"})},
        field="status.admission",
        by="rule",
    )
    placed = {
        "levels": ["rack"],
        "slices": [{"domainCount": 1, "podCounts": {"universal": 2}, "valuesPerLevel": [{"universal": "r1"}]}],
    }
    yield wl.status("gets places", RESERVED, {"admission": assigned(topologyAssignment=placed)})
    values = [{"individual": {"prefix": "node-", "roots": [f"{number:05}" for number in range(100_000)]}}]
    far = {
        "levels": ["host"],
        "slices": [{"domainCount": 100_000, "podCounts": {"universal": 1}, "valuesPerLevel": values}],
    }
    yield wl.status("goes to 100,000 places", RESERVED, {"admission": assigned(topologyAssignment=far)})
    yield wl.status("an admission is taken back", RESERVED, {"admission": None, "conditions": []})
    yield from places(f"{at}[0].topologyAssignment", placed)
    yield from pods_that_are_done()
    yield from checks()
    yield from clusters()
    yield wl.status("17 conditions", {"conditions": true(*(f"C{i}" for i in range(17)))}, field="status.conditions")
    yield wl.status(
        "nine failed nodes", {"unhealthyNodes": [{"name": f"n{i}"} for i in range(9)]}, field="status.unhealthyNodes"
    )
    yield wl.status(
        "a gate in between",
        {"preemptionGates": [{"name": "g", "position": "Ajar", "lastTransitionTime": TIME}]},
        field="status.preemptionGates[0].position",
    )
    yield wl.status("came back less than never", {"requeueState": {"count": -1}}, field="status.requeueState.count")


def places(at: str, good: Raw) -> Iterator[Case]:
    def bad(
        title: str, where: str, by: Enforcer = "schema", near: str = "", levels: list[str] | None = None, **part: Any
    ) -> Case:
        form = {"levels": good["levels"] if levels is None else levels, "slices": [{**good["slices"][0], **part}]}
        return wl.status(
            title,
            {"admission": assigned(topologyAssignment=form)},
            field=f"{at}.{where}",
            near=f"{at}.{near}" if near else "",
            by=by,
        )

    yield bad("places of no level", "levels", levels=[])
    yield bad("places in no domain", "slices[0].domainCount", domainCount=0)
    yield bad("places with too few values", "slices", "rule", levels=["rack", "host"])
    yield bad(
        "places with two sorts of counts", "slices[0].podCounts", "rule", podCounts={"universal": 1, "individual": [2]}
    )
    yield bad("places without counts", "slices[0].podCounts", "rule", podCounts={})
    yield bad("places with too many counts", "slices[0].podCounts.individual", "rule", podCounts={"individual": [1, 1]})
    yield bad("places for no pods", "slices[0].podCounts.universal", podCounts={"universal": 0})
    yield bad("places without values", "slices[0].valuesPerLevel[0]", "rule", valuesPerLevel=[{}])
    roots = [{"individual": {"roots": ["1", "2"]}}]
    yield bad("places with too many roots", "slices[0].valuesPerLevel", "rule", valuesPerLevel=roots)
    yield bad(
        "places with a long value", "slices[0].valuesPerLevel[0].universal", valuesPerLevel=[{"universal": "v" * 64}]
    )


def pods_that_are_done() -> Iterator[Case]:
    at = "status.reclaimablePods"

    def done(count: int, name: str = "main") -> Raw:
        return {**RESERVED, "reclaimablePods": [{"name": name, "count": count}]}

    yield wl.status("a pod is done", done(0), done(1))
    yield wl.status("more pods are done than there are", done(3), field=f"{at}[0].count", near=at, by="rule")
    yield wl.status("pods of a stranger are done", done(1, "x"), field=f"{at}[0].name", near=at, by="rule")
    yield wl.status("a pod that was done is back", done(2), done(1), field=at, by="rule")
    yield wl.status("finished pods are removed", done(1), {"reclaimablePods": None}, field=at, by="rule")


def checks() -> Iterator[Case]:
    at = "status.admissionChecks"

    def check(state: str = "Ready", **more: Any) -> Raw:
        one = {"name": "prov", "state": state, "message": "", "lastTransitionTime": TIME, **more}
        return {"admissionChecks": [one]}

    def updated(state: str = "Ready", name: str = "main", **update: Any) -> Raw:
        return check(state, podSetUpdates=[{"name": name, **update}])

    yield wl.status("a check is ready", check())
    yield wl.status("a check in an unknown state", check("Done"), field=f"{at}[0].state")
    yield wl.status(
        "a check without a message",
        {"admissionChecks": [{"name": "a", "state": "Ready", "lastTransitionTime": TIME}]},
        field=f"{at}[0].message",
    )
    yield wl.status(
        "nine checks",
        {"admissionChecks": [{**check()["admissionChecks"][0], "name": f"c{i}"} for i in range(9)]},
        field=at,
    )
    yield wl.status(
        "a check that waits for less than nothing", check(requeueAfterSeconds=-1), field=f"{at}[0].requeueAfterSeconds"
    )
    yield wl.status(
        "a check changes a stranger", updated(name="x"), field=f"{at}[0].podSetUpdates[0].name", near=at, by="rule"
    )
    yield wl.status(
        "a check adds nine tolerations",
        updated(tolerations=[{"key": f"k{i}", "operator": "Exists"} for i in range(9)]),
        field=f"{at}[0].podSetUpdates[0].tolerations",
    )
    yield wl.status(
        "a check tolerates nothing in particular",
        updated(tolerations=[{"operator": "Equal"}]),
        field=f"{at}[0].podSetUpdates[0].tolerations[0].operator",
        by="rule",
    )
    kept = f"{at}[0].podSetUpdates[0].tolerations[0]"
    for key, more in (("value", {"value": "a"}), ("tolerationSeconds", {"tolerationSeconds": 5})):
        tolerated = updated(tolerations=[{"key": "a", "operator": "Exists", **more}])
        yield wl.status(f"a check tolerates with a {key}", tolerated, field=f"{kept}.{key}", by="rule")
    yield wl.status(
        "a check that stays ready changes its mind",
        updated(labels={"a": "b"}),
        updated(labels={"a": "c"}),
        field=f"{at}[0].podSetUpdates",
        near=at,
        by="rule",
    )
    yield wl.status(
        "a check that tries again changes its mind", updated(labels={"a": "b"}), updated("Retry", labels={"a": "c"})
    )


def clusters() -> Iterator[Case]:
    nominated = {"nominatedClusterNames": ["a", "b"]}
    chosen = {"clusterName": "a", "nominatedClusterNames": None}
    at = "status.clusterName"
    yield wl.status("a cluster that was nominated", nominated, chosen)
    yield wl.status("a cluster out of the blue", {"clusterName": "a"}, field=at, by="rule")
    yield wl.status("a cluster among those that are nominated", nominated, {"clusterName": "a"}, field=at, by="rule")
    yield wl.status("another cluster", nominated, chosen, {"clusterName": "b"}, field=at, by="rule")
    yield wl.status(
        "a cluster that was not nominated",
        nominated,
        {"clusterName": "x", "nominatedClusterNames": None},
        field=at,
        by="rule",
    )
    yield wl.status(
        "21 clusters", {"nominatedClusterNames": [f"c{i}" for i in range(21)]}, field="status.nominatedClusterNames"
    )


def cases() -> Iterator[Case]:
    yield from specs()
    yield from topology_requests()
    yield from templates()
    yield from elastic()
    yield from reserved()
    yield from statuses()
