"""The smallest objects of each kind that a server accepts, and where they live.

A test changes what it is about and leaves the rest to these.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

NOBODY = "contract.example.com/nobody"
LABELS = {"app": "contract"}


def path(resource: str, space: str | None = None, name: str | None = None, *more: str) -> str:
    """The address of a collection or an object: path("apps/v1/deployments", "ns", "web", "scale")."""
    *group, plural = resource.split("/")
    root = ["", "apis", *group] if len(group) == 2 else ["", "api", *group]
    inside = ["namespaces", space] if space else []
    return "/".join([*root, *inside, plural, *([name] if name else []), *more])


def pods(space: str, name: str | None = None, *more: str) -> str:
    return path("v1/pods", space, name, *more)


def config_maps(space: str, name: str | None = None) -> str:
    return path("v1/configmaps", space, name)


def jobs(space: str, name: str | None = None, *more: str) -> str:
    return path("batch/v1/jobs", space, name, *more)


def deployments(space: str, name: str | None = None, *more: str) -> str:
    return path("apps/v1/deployments", space, name, *more)


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> Object:
    content = {"data": data} if data is not None else {}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, **content}


def container(name: str = "main", **more: Any) -> Object:
    return {"name": name, "image": "example.com/image:1", **more}


def pod(name: str, metadata: Object | None = None, **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **(metadata or {})},
        "spec": {"schedulerName": NOBODY, "containers": [container()], **spec},
    }


def template(labels: dict[str, str] | None = None, **spec: Any) -> Object:
    content = {"schedulerName": NOBODY, "containers": [container()], **spec}
    return {"metadata": {"labels": LABELS if labels is None else labels}, "spec": content}


def scaled(kind: str, name: str, **spec: Any) -> Object:
    """A Deployment, ReplicaSet or StatefulSet that wants no pods."""
    content = {"replicas": 0, "selector": {"matchLabels": LABELS}, "template": template(), **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": content}


def deployment(name: str, **spec: Any) -> Object:
    return scaled("Deployment", name, **spec)


def job(name: str, **spec: Any) -> Object:
    """A Job that no controller looks after."""
    content = {"managedBy": NOBODY, "template": template(labels={}, restartPolicy="Never"), **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": content}


def node(name: str, metadata: Object | None = None, **spec: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, **(metadata or {})}, "spec": spec}
