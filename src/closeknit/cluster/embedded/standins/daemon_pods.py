"""The pods of a DaemonSet: each has an affinity to one node by name, and tolerates the node controller's taints."""

from __future__ import annotations

import msgspec

from ....dialects import core
from ....model.shape import Shape
from ...kinds import DAEMON_SET
from ...port import Create, Raw
from .children import pod
from .node_affinity import NAME_FIELD

HASH = "controller-revision-hash"
GENERATION, GENERATION_NOTE = "pod-template-generation", "deprecated.daemonset.template.generation"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TOLERATED = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
TOLERATED_ON_HOST_NETWORK = (("network-unavailable", "NoSchedule"),)


def new_pod(owner: Raw, node: str, text: str) -> Create:
    template = owner["spec"]["template"]
    inner = template.get("spec") or {}
    labels = {HASH: text, GENERATION: generation(owner)}
    spec = {"affinity": pinned(inner.get("affinity") or {}, node), "tolerations": tolerations(inner)}
    return pod(template, DAEMON_SET, owner, prefix=f"{owner['metadata']['name']}-", labels=labels, spec=spec)


def pinned(affinity: Raw, node: str) -> Raw:
    """The affinity of a template for one node: every term also requires its name."""
    by_name = {"matchFields": [{"key": NAME_FIELD, "operator": "In", "values": [node]}]}
    of_node = affinity.get("nodeAffinity") or {}
    terms = (of_node.get(REQUIRED) or {}).get("nodeSelectorTerms")
    named = [{**one, **by_name} for one in terms] if terms else [by_name]
    return {**affinity, "nodeAffinity": {**of_node, REQUIRED: {"nodeSelectorTerms": named}}}


def tolerations(spec: Raw) -> list[Raw]:
    """The tolerations of the template, and those that every daemon pod gets."""
    has = list(spec.get("tolerations") or ())
    more = (*TOLERATED, *(TOLERATED_ON_HOST_NETWORK if spec.get("hostNetwork") else ()))
    added = [{"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect} for key, effect in more]
    return has + [one for one in added if one not in has]


def shape_of(template: Raw) -> Shape:
    """The shape of the pods without the affinity to one node."""
    inner = template.get("spec") or {}
    return core.plain_shape(msgspec.convert({**inner, "tolerations": tolerations(inner)}, core.PodSpec))


def target(pod: Raw) -> str:
    """The node that a daemon pod is bound to, or has an affinity to."""
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    of_node = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    for term in (of_node.get(REQUIRED) or {}).get("nodeSelectorTerms") or ():
        for one in term.get("matchFields") or ():
            if one["key"] == NAME_FIELD and one.get("values"):
                return str(one["values"][0])
    return ""


def hash_of(pod: Raw) -> str:
    return str((pod["metadata"].get("labels") or {}).get(HASH, ""))


def generation(owner: Raw) -> str:
    notes = owner["metadata"].get("annotations") or {}
    return str(notes.get(GENERATION_NOTE) or owner["metadata"].get("generation", 1))
