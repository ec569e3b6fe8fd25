"""Topologies, AdmissionChecks, ProvisioningRequestConfigs, WorkloadPriorityClasses and Maintenances, good and bad."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.cluster.kinds import ADMISSION_CHECK, MAINTENANCE, PROVISIONING_CONFIG, TOPOLOGY, WORKLOAD_PRIORITY_CLASS
from corpus.case import About, Case, Raw, Step

HOST = "kubernetes.io/hostname"


def levels(*labels: str) -> Raw:
    return {"levels": [{"nodeLabel": label} for label in labels]}


def topologies() -> Iterator[Case]:
    topo = About(TOPOLOGY, {"spec": levels("block", "rack")})
    yield topo.good("two levels")
    yield topo.good("down to the host", **levels("block", HOST))
    yield Case("without a spec", TOPOLOGY, {}, field="spec.levels", near="spec")
    yield topo.bad("without levels", "spec.levels", levels=None)
    yield topo.bad("with no level", "spec.levels", levels=[])
    yield topo.bad("17 levels", "spec.levels", **levels(*(f"l{i}" for i in range(17))))
    yield topo.bad("a level that says nothing", "spec.levels[0].nodeLabel", levels=[{}])
    yield topo.bad("an empty level", "spec.levels[0].nodeLabel", **levels(""))
    yield topo.bad("a level with two slashes", "spec.levels[0].nodeLabel", **levels("a/b/c"))
    yield topo.bad("a level that is too long", "spec.levels[0].nodeLabel", **levels("p" * 253 + "/" + "r" * 63))
    yield topo.bad("a level twice", "spec.levels[1].nodeLabel", near="spec.levels", by="rule", **levels("a", "a"))
    yield topo.bad(
        "the host in between", "spec.levels[0].nodeLabel", near="spec.levels", by="rule", **levels(HOST, "a")
    )
    yield topo.change("gains a level", {}, levels("zone", "block", "rack"), "spec.levels")
    yield topo.change("gains a level above the host", levels("block", HOST), levels("block", "rack", HOST))
    yield topo.change("loses the host", levels("block", HOST), levels("block"), "spec.levels")
    yield topo.change("gains the host", levels("block"), levels("block", HOST), "spec.levels")


def admission_checks() -> Iterator[Case]:
    ac = About(ADMISSION_CHECK, {"spec": {"controllerName": "example.com/mine"}})
    parameters = {"apiGroup": "example.com", "kind": "Settings", "name": "mine"}
    yield ac.good("with parameters", parameters=parameters)
    yield Case("without a spec", ADMISSION_CHECK, {}, field="spec.controllerName", near="spec")
    yield ac.bad("without a controller", "spec.controllerName", controllerName=None)
    yield ac.bad("with an empty controller", "spec.controllerName", controllerName="")
    yield ac.bad("with a controller that is too long", "spec.controllerName", controllerName="a" * 254)
    for key, word in (("apiGroup", "Example_com"), ("kind", "9"), ("name", "Mine")):
        yield ac.bad(
            f"parameters without {key}",
            f"spec.parameters.{key}",
            parameters={k: v for k, v in parameters.items() if k != key},
        )
        yield ac.bad(f"parameters with a bad {key}", f"spec.parameters.{key}", parameters={**parameters, key: word})
    yield ac.change("changes its controller", {}, {"controllerName": "example.com/other"}, "spec.controllerName")
    yield ac.change("changes its parameters", {"parameters": parameters}, {"parameters": {"name": "other"}})
    good = {
        "type": "Active",
        "status": "True",
        "reason": "Active",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    yield ac.status("is active", {"conditions": [good]})
    for key, word in (
        ("status", "Yes"),
        ("reason", ""),
        ("reason", "not one word"),
        ("lastTransitionTime", "today"),
        ("type", "a/b/c"),
    ):
        yield ac.status(
            f"a condition whose {key} is {word or 'empty'}",
            {"conditions": [{**good, key: word}]},
            field=f"status.conditions[0].{key}",
        )
    yield ac.status(
        "a condition without a message",
        {"conditions": [{k: v for k, v in good.items() if k != "message"}]},
        field="status.conditions[0].message",
    )
    yield ac.status("a condition twice", {"conditions": [good, good]}, field="status.conditions[1]")
    yield ac.status(
        "17 conditions", {"conditions": [{**good, "type": f"T{i}"} for i in range(17)]}, field="status.conditions"
    )


def provisioning() -> Iterator[Case]:
    prc = About(PROVISIONING_CONFIG, {"spec": {"provisioningClassName": "check-capacity"}})
    retry = {"backoffBaseSeconds": 60, "backoffLimitCount": 3, "backoffMaxSeconds": 1800}
    yield prc.good("gets a strategy", kept={"retryStrategy": retry})
    yield prc.good(
        "gets the rest of a strategy",
        retryStrategy={"backoffLimitCount": 0},
        kept={"retryStrategy": {**retry, "backoffLimitCount": 0}},
    )
    yield Case("without a spec", PROVISIONING_CONFIG, {}, field="spec.provisioningClassName", near="spec")
    yield prc.bad("without a class", "spec.provisioningClassName", provisioningClassName=None)
    yield prc.bad("with a class in capitals", "spec.provisioningClassName", provisioningClassName="Check")
    yield prc.bad("with an empty class", "spec.provisioningClassName", provisioningClassName="")
    yield prc.bad("101 parameters", "spec.parameters", parameters={f"p{i}": "x" for i in range(101)})
    yield prc.bad("a parameter that is too long", "spec.parameters.p", parameters={"p": "x" * 256})
    yield prc.bad("101 resources", "spec.managedResources", managedResources=[f"r{i}" for i in range(101)])
    yield prc.bad("a resource with a bad name", "spec.managedResources[0]", managedResources=["a/b/c"])
    yield prc.bad("a resource twice", "spec.managedResources[1]", managedResources=["cpu", "cpu"])
    yield prc.bad(
        "fewer than no tries", "spec.retryStrategy.backoffLimitCount", retryStrategy={"backoffLimitCount": -1}
    )
    yield prc.bad("an unknown way to merge", "spec.podSetMergePolicy", podSetMergePolicy="All")
    update = {"key": "example.com/pool", "valueFromProvisioningClassDetail": "pool"}
    yield prc.good(
        "labels from the answer",
        podSetUpdates={"nodeSelector": [update]},
        kept={"podSetUpdates": {"nodeSelector": [update]}, "retryStrategy": retry},
    )
    at = "spec.podSetUpdates.nodeSelector"
    yield prc.bad("nine labels", at, podSetUpdates={"nodeSelector": [{**update, "key": f"k{i}"} for i in range(9)]})
    yield prc.bad(
        "a label with a bad name", f"{at}[0].key", podSetUpdates={"nodeSelector": [{**update, "key": "a/b/c"}]}
    )
    yield prc.bad(
        "a label without a detail",
        f"{at}[0].valueFromProvisioningClassDetail",
        podSetUpdates={"nodeSelector": [{"key": "a"}]},
    )
    yield prc.bad("a label twice", f"{at}[1]", podSetUpdates={"nodeSelector": [update, update]})


def priority_classes() -> Iterator[Case]:
    kind = WORKLOAD_PRIORITY_CLASS
    yield Case("a value", kind, {"value": -5, "description": "last"})
    yield Case("without a value", kind, {}, field="value")
    yield Case("a value that is text", kind, {"value": "5"}, field="value")
    yield Case("a value beyond 32 bits", kind, {"value": 2**31}, field="value")
    yield Case("a long description", kind, {"value": 1, "description": "x" * 2049}, field="description")
    yield Case("changes its value", kind, {"value": 1}, (Step({"value": 2}),))


def maintenances() -> Iterator[Case]:
    rack = [{"nodeLabels": {"example.com/rack": "r7"}}]
    times = {"from": "2026-11-18T22:00:00Z", "until": "2026-11-19T02:00:00Z"}
    about = About(MAINTENANCE, {"spec": {"domains": rack, **times}})
    yield about.good("a rack")
    yield about.good("with a drain", drain=True)
    yield about.bad("without domains", "spec.domains", domains=None)
    yield about.bad("without an end", "spec.until", until=None)
    yield about.bad("an end before its beginning", "spec.until", by="rule", until="2026-11-18T21:00:00Z")
    labels = "spec.domains[0].nodeLabels"
    wrong = [{"nodeLabels": {"a/b/c": "r7"}}]
    yield about.bad("a label with two slashes", f"{labels}[a/b/c]", near=labels, by="rule", domains=wrong)


def cases() -> Iterator[Case]:
    yield from topologies()
    yield from admission_checks()
    yield from provisioning()
    yield from priority_classes()
    yield from maintenances()
