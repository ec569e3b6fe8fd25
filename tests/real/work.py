"""What users submit: pods with topology requests, and jobs of them."""

from __future__ import annotations

from typing import Any

from servers.manifests import Object

TOPOLOGY = "kueue.x-k8s.io/podset-"
WISHES = ("required", "preferred", "unconstrained", "slice_required", "slice_size", "group_name")
RUN_TIME, START_TIME = "closeknit.dev/run-time", "closeknit.dev/start-time"


def template(cpu: int = 4, *, run: str = "forever", restart: str = "Never", labels: Any = None, **wish: str) -> Object:
    """template(4, required=RACK); template(4, slice_required=RACK, slice_size="2")"""
    notes = {START_TIME: "0s", RUN_TIME: run, **{_note(name): value for name, value in wish.items()}}
    container = {"name": "main", "image": "example.com/image:1", "resources": {"requests": {"cpu": str(cpu)}}}
    meta: Object = {"annotations": notes, **({"labels": labels} if labels else {})}
    return {"metadata": meta, "spec": {"restartPolicy": restart, "containers": [container]}}


def _note(name: str) -> str:
    words = {"slice_required": "slice-required-topology", "slice_size": "slice-size", "group_name": "group-name"}
    return f"{TOPOLOGY}{words.get(name, f'{name}-topology')}"


def job(name: str, pods: int, pod: Object, **spec: Any) -> Object:
    """An Indexed Job, all of whose pods run at once."""
    content = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": pod, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": content}


def of_class(body: Object, priority: str) -> Object:
    """The job with a WorkloadPriorityClass."""
    meta = dict(body["metadata"])
    meta["labels"] = {**(meta.get("labels") or {}), "kueue.x-k8s.io/priority-class": priority}
    return {**body, "metadata": meta}
