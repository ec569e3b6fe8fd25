"""Drains nodes: evicts every pod, and retries while a PodDisruptionBudget blocks the eviction."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

import click

from ..cluster import kinds
from ..cluster.errors import NotFound, TooManyRequests
from ..model.mistake import InputError, Mistake
from ..model.number import number_of
from .exit_codes import NOT_NOW
from .progress import Progress

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..cluster.port import Raw

EVERY = 0.25
"""Seconds between attempts."""
MIRROR = "kubernetes.io/config.mirror"
ENDED = ("Succeeded", "Failed")


async def pods_on(client: Client, nodes: Sequence[str]) -> list[Raw]:
    """The pods to evict: all pods on these nodes except DaemonSet pods and static pods."""
    found: list[Raw] = []
    for name in nodes:
        pods = await client.list(kinds.POD, fieldSelector=f"spec.nodeName={name}")
        found += [pod for pod in pods if not _stays(pod)]
    return found


def _stays(pod: Raw) -> bool:
    is_mirror = MIRROR in (pod["metadata"].get("annotations") or {})
    return is_mirror or any(one.get("kind") == "DaemonSet" for one in _controllers(pod))


def _controllers(pod: Raw) -> list[Raw]:
    return [one for one in pod["metadata"].get("ownerReferences") or () if one.get("controller")]


def check(pods: Sequence[Raw], force: bool, lose_data: bool) -> None:
    """Raise all reasons against the drain together, before any pod is evicted."""
    mistakes = []
    for pod in pods:
        if (pod.get("status") or {}).get("phase") in ENDED:
            continue
        what = f"Pod {_key(pod)}"
        if not force and not _controllers(pod):
            text = "has no controller that would recreate it"
            mistakes.append(Mistake(text, "--force evicts it anyway", what=what))
        volumes = (pod.get("spec") or {}).get("volumes") or ()
        if not lose_data and any("emptyDir" in one for one in volumes):
            text = "has an emptyDir volume and would lose its data"
            mistakes.append(Mistake(text, "--delete-emptydir-data evicts it anyway", what=what))
    if mistakes:
        raise InputError(mistakes)


def _key(pod: Raw) -> str:
    return f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"


async def evict(client: Client, pods: Sequence[Raw], timeout: float) -> int:
    """Evict in rounds: retry pods that a budget blocked, and wait for evicted pods to terminate."""
    end = monotonic() + timeout
    to_ask, why = list(pods), ""
    leaving: list[Raw] = []
    with Progress("pods") as progress:
        while to_ask or leaving:
            held = []
            for pod in to_ask:
                refused = await _asked_to_go(client, pod)
                if refused:
                    why = refused
                    held.append(pod)
                else:
                    click.echo(f"pod/{_key(pod)} evicted")
                    leaving.append(pod)
            to_ask = held
            leaving = [pod for pod in leaving if await _is_there(client, pod)]
            left = len(to_ask) + len(leaving)
            if not left:
                break
            if monotonic() >= end:
                return _late(to_ask, leaving, timeout, why)
            progress.tell(partial("{} left, {:,} blocked by budgets".format, number_of(left, "pod"), len(to_ask)))
            await asyncio.sleep(min(EVERY, max(0.0, end - monotonic())))
    return 0


async def _asked_to_go(client: Client, pod: Raw) -> str:
    """Evict the pod; return why that is not allowed now, or an empty string."""
    try:
        await client.evict(pod["metadata"]["namespace"], pod["metadata"]["name"])
    except TooManyRequests as refused:
        causes = "; ".join(cause.message for cause in refused.causes)
        return f"{refused.message} {causes}".strip()
    except NotFound:
        pass
    return ""


async def _is_there(client: Client, pod: Raw) -> bool:
    try:
        found = await client.get(kinds.POD, pod["metadata"]["namespace"], pod["metadata"]["name"])
    except NotFound:
        return False
    return bool(found["metadata"]["uid"] == pod["metadata"]["uid"])


def _late(held: Sequence[Raw], leaving: Sequence[Raw], timeout: float, why: str) -> int:
    remedy = "the nodes stay cordoned; try again, or give a longer --timeout"
    if held:
        names = ", ".join(_key(pod) for pod in held[:3]) + (f" and {len(held) - 3} more" if len(held) > 3 else "")
        click.echo(f"error: not evicted within {timeout:g} s: {names}: {why}; {remedy}", err=True)
    if leaving:
        count = number_of(len(leaving), "pod")
        click.echo(f"error: {count} did not terminate within {timeout:g} s; {remedy}", err=True)
    return NOT_NOW
