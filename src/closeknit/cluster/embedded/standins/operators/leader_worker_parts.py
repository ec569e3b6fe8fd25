"""The children of a LeaderWorkerSet: a StatefulSet of leaders, and one of workers for each leader.

The leader's pod owns the workers of its group, so that they are deleted with it. A revision keeps the template of the
groups that a rolling update has not reached yet.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....kinds import CONTROLLER_REVISION, LEADER_WORKER_SET, POD, SERVICE, STATEFUL_SET
from ....port import Create, Raw
from ..children import child, fingerprint, number
from .leader_worker_pods import (
    GROUP_INDEX,
    GROUP_KEY,
    LEADER_NAME,
    NAME,
    REPLICAS,
    REVISION,
    SIZE,
    SUBDOMAIN_POLICY,
    SUBGROUP_SIZE,
    SUBGROUP_TYPE,
    UNIQUE,
    WORKER_INDEX,
)


def wanted_replicas(raw: Raw) -> int:
    return number(raw["spec"].get("replicas"), 1)


def size(template: Raw) -> int:
    return number(template.get("size"), 1)


def is_unique(raw: Raw) -> bool:
    """Whether every group has a Service of its own."""
    return (raw["spec"].get("networkConfig") or {}).get("subdomainPolicy") == UNIQUE


def revision_data(raw: Raw) -> Raw:
    """The part of the spec that a revision keeps."""
    spec = raw["spec"]
    data = {"leaderWorkerTemplate": {"$patch": "replace", **spec["leaderWorkerTemplate"]}}
    if spec.get("networkConfig"):
        data["networkConfig"] = {"$patch": "replace", **spec["networkConfig"]}
    return {"spec": data}


def revision_of(raw: Raw) -> str:
    return fingerprint(revision_data(raw))


def revision(raw: Raw, number: int) -> Create:
    meta, key = raw["metadata"], revision_of(raw)
    labels = {NAME: meta["name"], REVISION: key}
    body = {"data": revision_data(raw), "revision": number}
    return child(
        CONTROLLER_REVISION, body, LEADER_WORKER_SET, raw, name=f"{meta['name']}-{key}-{number}", labels=labels
    )


def template_in(revision: Raw) -> Raw:
    """The template in a revision."""
    kept: Raw = revision["data"]["spec"]["leaderWorkerTemplate"]
    return {key: value for key, value in kept.items() if key != "$patch"}


def shared_service(raw: Raw) -> Create:
    name = raw["metadata"]["name"]
    return child(SERVICE, _headless({NAME: name}), LEADER_WORKER_SET, raw, name=name, labels={NAME: name})


def own_service(leader: Raw) -> Create:
    labels = leader["metadata"]["labels"]
    body = _headless({key: labels[key] for key in (NAME, GROUP_INDEX)})
    return child(SERVICE, body, POD, leader, name=leader["metadata"]["name"], labels={NAME: labels[NAME]})


def _headless(selector: Mapping[str, str]) -> Raw:
    return {"spec": {"clusterIP": "None", "selector": dict(selector), "publishNotReadyAddresses": True}}


def leaders(raw: Raw, key: str, partition: int) -> Create:
    """The StatefulSet of the leaders, with the current revision."""
    name, template = raw["metadata"]["name"], raw["spec"]["leaderWorkerTemplate"]
    count = wanted_replicas(raw)
    notes = {SIZE: str(size(template)), **_subgroups(template, leader=True)}
    if is_unique(raw):
        notes[SUBDOMAIN_POLICY] = UNIQUE
    source = template.get("leaderTemplate") or template["workerTemplate"]
    selector = {NAME: name, WORKER_INDEX: "0"}
    spec = {
        "replicas": count,
        "serviceName": name,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": selector},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}},
        "template": _marked(source, {**selector, REVISION: key}, notes),
    }
    return child(
        STATEFUL_SET,
        {"spec": spec},
        LEADER_WORKER_SET,
        raw,
        name=name,
        labels={NAME: name, REVISION: key},
        annotations={REPLICAS: str(count)},
    )


def workers(raw: Raw, template: Raw, leader: Raw) -> Create:
    """The StatefulSet of the workers of one group."""
    meta = leader["metadata"]
    labels = {key: meta["labels"][key] for key in (NAME, GROUP_INDEX, GROUP_KEY, REVISION)}
    notes = {SIZE: str(size(template)), LEADER_NAME: meta["name"], **_subgroups(template, leader=False)}
    spec = {
        "replicas": size(template) - 1,
        "ordinals": {"start": 1},
        "serviceName": meta["name"] if is_unique(raw) else raw["metadata"]["name"],
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": {key: labels[key] for key in (NAME, GROUP_INDEX, GROUP_KEY)}},
        "template": _marked(template["workerTemplate"], labels, notes),
    }
    return child(STATEFUL_SET, {"spec": spec}, POD, leader, name=meta["name"], labels=labels)


def _subgroups(template: Raw, *, leader: bool) -> dict[str, str]:
    policy = template.get("subGroupPolicy")
    if not policy or not policy.get("subGroupSize"):
        return {}
    notes = {SUBGROUP_SIZE: str(policy["subGroupSize"])}
    if leader:
        notes[SUBGROUP_TYPE] = policy.get("subGroupPolicyType") or "LeaderWorker"
    return notes


def _marked(template: Raw, labels: Mapping[str, str], notes: Mapping[str, str]) -> Raw:
    meta = template.get("metadata") or {}
    return {
        **template,
        "metadata": {
            **meta,
            "labels": {**(meta.get("labels") or {}), **labels},
            "annotations": {**(meta.get("annotations") or {}), **notes},
        },
    }
