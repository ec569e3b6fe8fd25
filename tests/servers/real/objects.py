"""Work for simulated machines: annotations set how pods behave."""

from __future__ import annotations

from typing import Any

from contract.client import Api
from contract.objects import Object, pods

PREFIX = "closeknit.dev/"


def template(restart: str = "Never", **life: str) -> Object:
    """A pod template for the stock scheduler: template(run_time="1s", exit_code="3")."""
    notes = {PREFIX + key.replace("_", "-"): value for key, value in {"start_time": "0s", **life}.items()}
    container = {"name": "main", "image": "example.com/image:1", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"annotations": notes}, "spec": {"restartPolicy": restart, "containers": [container]}}


def job(name: str, space: str, pod: Object, **spec: Any) -> Object:
    metadata = {"name": name, "namespace": space}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": pod, **spec}}


def of_job(api: Api, space: str, name: str) -> list[Object]:
    found: list[Object] = api.get(pods(space), labelSelector=f"job-name={name}").body["items"]
    return found
