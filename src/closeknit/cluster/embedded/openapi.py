"""The OpenAPI documents of the host, from the same tables: what `kubectl explain`, `create` and `apply` ask for.

A document has the kinds of one API group and version with all their parts, and for every kind a patch operation that
names it, by which clients learn that the host checks fields by itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..kinds import KINDS, Kind
from .fields import Schema, schema_of

Document = dict[str, Any]

_SCALARS: dict[str, Document] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "time": {"type": "string", "format": "date-time"},
    "micro-time": {"type": "string", "format": "date-time"},
    "bytes": {"type": "string", "format": "byte"},
    "quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "int-or-string": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}

_ABOUT = {
    "Namespace": "A part of the cluster in which names are unique.",
    "Node": "A machine that runs pods.",
    "Pod": "Containers that run together on one node.",
    "Event": "Something that happened to an object.",
    "ConfigMap": "Settings for pods to read.",
    "Secret": "Settings for pods to read that are not for everybody's eyes.",
    "Service": "One address for a set of pods.",
    "ServiceAccount": "Who a pod is when it talks to the API.",
    "PodTemplate": "What pods are to be made like.",
    "LimitRange": "What pods in a namespace may ask for, and what they get if they do not ask.",
    "Deployment": "Keeps a number of equal pods running, and replaces them when their template changes.",
    "ReplicaSet": "Keeps a number of equal pods running.",
    "StatefulSet": "Keeps numbered pods running, each with a name of its own.",
    "DaemonSet": "Keeps one pod running on every node.",
    "ControllerRevision": "A state that a controller can come back to.",
    "Job": "Runs pods until enough of them have succeeded.",
    "CronJob": "Makes Jobs at given times.",
    "PodDisruptionBudget": "How many of a set of pods may be evicted at a time.",
    "PriorityClass": "A name for how important a pod is.",
    "RuntimeClass": "What runs the containers of a pod.",
    "Lease": "Who holds something for now.",
    "Workload": "What a job asks of quota and topology, and what it was given.",
    "ClusterQueue": "A pool of quota that workloads wait for.",
    "LocalQueue": "The way from a namespace into a ClusterQueue.",
    "Cohort": "ClusterQueues that lend each other quota.",
    "ResourceFlavor": "A sort of nodes, by labels and taints.",
    "Topology": "The levels by which nodes are close to each other.",
    "AdmissionCheck": "What has to be true besides quota before a workload runs.",
    "WorkloadPriorityClass": "A name for how important a workload is.",
    "ProvisioningRequestConfig": "How nodes are asked for before a workload runs.",
    "JobSet": "Several Jobs that run as one.",
    "LeaderWorkerSet": "Groups of pods, each with a leader and its workers.",
    "MPIJob": "A launcher and the workers that it starts processes on.",
    "PyTorchJob": "A distributed PyTorch run.",
    "TrainJob": "A training run that names a runtime.",
    "TrainingRuntime": "How training runs of a namespace are made.",
    "ClusterTrainingRuntime": "How training runs are made.",
    "RayJob": "A program that runs on a Ray cluster made for it.",
    "RayCluster": "A head and groups of workers that run Ray.",
    "ProvisioningRequest": "A request for nodes.",
}


@lru_cache(maxsize=64)
def openapi_v3(group: str, version: str) -> Document:
    """The document of a group and version; treat it as given, it is shared."""
    parts: Document = {}
    paths: Document = {}
    for kind in KINDS:
        if (kind.group, kind.version) == (group, version) and (schema := schema_of(kind)) is not None:
            names = {"group": kind.group, "version": kind.version, "kind": kind.kind}
            about = _ABOUT.get(kind.kind, kind.kind)
            parts[kind.kind] = {}
            parts[kind.kind] = {
                "description": about,
                **_object(schema, parts),
                "x-kubernetes-group-version-kind": [names],
            }
            paths[_path(kind)] = {"patch": _patch(kind, names)}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Closeknit", "version": version},
        "paths": paths,
        "components": {"schemas": parts},
    }


def _path(kind: Kind) -> str:
    return kind.path("{namespace}", "{name}")


def _patch(kind: Kind, names: Document) -> Document:
    forms = ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"]
    if kind.is_built_in:
        forms.append("application/strategic-merge-patch+json")
    body = {"schema": {"type": "object"}}
    return {
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "boolean" if name == "force" else "string"}}
            for name in ("dryRun", "fieldManager", "fieldValidation", "force")
        ],
        "requestBody": {"content": dict.fromkeys(forms, body), "required": True},
        "responses": {
            "200": {
                "description": "OK",
                "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.kind}"}}},
            }
        },
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": names,
    }


def _described(schema: Schema, parts: Document) -> Document:
    """A field; parts with a name are put aside once and referred to."""
    found: Document
    if schema.type == "object" and schema.part:
        if schema.part not in parts:
            parts[schema.part] = {}
            parts[schema.part] = _object(schema, parts)
        found = {"$ref": f"#/components/schemas/{schema.part}"}
    elif schema.type == "object":
        found = _object(schema, parts)
    elif schema.type == "map":
        found = {"type": "object", "additionalProperties": _described(schema.item(), parts)}
    elif schema.type == "list":
        found = {"type": "array", "items": _described(schema.item(), parts), **_list_type(schema)}
    else:
        found = _SCALARS[schema.type]
    extra: Document = {}
    if schema.enum:
        extra["enum"] = list(schema.enum)
    if schema.nullable:
        extra["nullable"] = True
    if schema.type == "map" and schema.atomic:
        extra["x-kubernetes-map-type"] = "atomic"
    if schema.strategy:
        extra["x-kubernetes-patch-strategy"] = ",".join(schema.strategy)
    if schema.merge_key:
        extra["x-kubernetes-patch-merge-key"] = schema.merge_key
    if "$ref" in found and extra:
        return {"allOf": [found], **extra}
    return {**found, **extra}


def _object(schema: Schema, parts: Document) -> Document:
    found: Document = {"type": "object"}
    if schema.fields:
        found["properties"] = {name: _described(one, parts) for name, one in schema.fields.items()}
    if schema.need:
        found["required"] = list(schema.need)
    if schema.atomic:
        found["x-kubernetes-map-type"] = "atomic"
    if schema.open and not schema.part:
        found["x-kubernetes-preserve-unknown-fields"] = True
    return found


def _list_type(schema: Schema) -> Document:
    if schema.atomic:
        return {"x-kubernetes-list-type": "atomic"}
    if schema.keys:
        return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(schema.keys)}
    return {"x-kubernetes-list-type": "set"}
