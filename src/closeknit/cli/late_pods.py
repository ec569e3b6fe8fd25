"""Pods of admitted workloads that have not started after a minute, from the cluster's objects, for tables."""

from __future__ import annotations

from collections.abc import Sequence
from time import time
from typing import Any

from ..cluster import kinds
from ..cluster.kube.client import Client
from ..dialects import pods as pod_wire
from ..dialects.timestamps import parse
from ..lifecycle.starting import PATIENCE, unstarted_for_long
from ..model.pod import Pod
from .placements import condition, holds

Raw = dict[str, Any]


async def unstarted_pods(client: Client, workloads: Sequence[Raw], namespace: str) -> dict[str, str]:
    """What holds back the first pod of each such workload, by the workload's uid."""
    now = time()
    due = {_key(one): (one["metadata"].get("uid", ""), since) for one in workloads if (since := _due(one, now))}
    if not due:
        return {}
    pods: dict[str, list[Pod]] = {}
    for raw in await client.list(kinds.POD, namespace, fieldSelector="status.phase=Pending"):
        pod = pod_wire.pod(raw)
        pods.setdefault(f"{pod.namespace}/{pod.workload}", []).append(pod)
    found = {uid: unstarted_for_long(pods.get(key, ()), since, now) for key, (uid, since) in due.items()}
    return {uid: f"Pod {one.first}: {one.why}" for uid, one in found.items() if one is not None}


def _due(workload: Raw, now: float) -> float:
    """When it was admitted, if its pods should run by now; otherwise 0."""
    runs = holds(workload, "Admitted") and not any(holds(workload, kind) for kind in ("Finished", "PodsReady"))
    since = (condition(workload, "Admitted") or {}).get("lastTransitionTime") if runs else None
    at = parse(since) if since else 0.0
    return at if at and now - at > PATIENCE else 0.0


def _key(raw: Raw) -> str:
    return f"{raw['metadata'].get('namespace', '')}/{raw['metadata'].get('name', '')}"
