"""Uninstalling, so that nothing is left that blocks other controllers or jobs.

    policies ▶ permissions, controller ▶ finalizers ▶ (purge: definitions with all their objects, namespace)

Policies go first: from then on the API server holds no jobs. Without permissions the controller cannot add finalizers
again, however long its pods take to terminate. Definitions, objects and the configuration stay, so that a later
installation continues where this one ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from ..cluster import kinds
from ..cluster.embedded.rules.queueing.managed import has_job_for_owner, job_kind, queue_of
from ..cluster.errors import Conflict, Forbidden, Invalid, MethodNotAllowed, NotFound
from ..cluster.kinds import POD, Kind
from ..cluster.kube.client import METADATA, Client, path
from ..cluster.kube.discovery import Served, served
from ..dialects.kueue.jobs.kinds import LIVE
from ..dialects.kueue.jobs.marks import ADMISSION_GATE, IN_USE, MANAGED, TOPOLOGY_GATE
from . import kinds as server
from .crds import KUEUE_KINDS
from .marks import SELECTOR, Raw, is_ours, label
from .objects import InstallOptions

IN_FLIGHT = 16
TRIES = 5
ACCESS = (server.CLUSTER_ROLE_BINDING, server.ROLE_BINDING, server.CLUSTER_ROLE, server.ROLE)
RUNNING = (
    kinds.DEPLOYMENT,
    kinds.BUDGET,
    server.NETWORK_POLICY,
    server.SERVICE_MONITOR,
    kinds.SERVICE,
    kinds.SERVICE_ACCOUNT,
)
FINALIZERS: Mapping[Kind, str] = {**dict.fromkeys(KUEUE_KINDS, IN_USE), POD: MANAGED}
JOBS = {kinds.BY_NAME[name]: one for name, one in LIVE.items() if name in kinds.BY_NAME and name[1] != "Pod"}
GATES = (ADMISSION_GATE, TOPOLOGY_GATE)
ALL_KINDS = (
    *server.POLICIES,
    *server.OLDER.values(),
    *ACCESS,
    *RUNNING,
    *FINALIZERS,
    *JOBS,
    server.CRD,
    kinds.NAMESPACE,
)


class HeldJob(NamedTuple):
    """A job that stays suspended or gated, and how to start it."""

    what: str
    remedy: str


class Left(NamedTuple):
    """What an uninstallation leaves behind: held jobs, and running jobs with templates that gate new pods."""

    held: list[HeldJob]
    gated: list[str]


class Uninstalling:
    """`say` is called with a line for every change; with `rehearse` nothing is changed."""

    def __init__(
        self, client: Client, wishes: InstallOptions, say: Callable[[str], None], rehearse: bool = False
    ) -> None:
        self.client, self.say, self.rehearse = client, say, rehearse
        self.namespace, self.lease, self.rules = wishes.namespace, wishes.lease, wishes.rules

    async def run(self, purge: bool) -> Left:
        known = await served(self.client, ALL_KINDS)
        for some in (server.POLICIES, (*ACCESS, *RUNNING)):
            for kind in some:
                await self._delete_ours(known, server.as_served(known, kind))
        await self._delete_lease()
        for kind, finalizer in FINALIZERS.items():
            if known.can(kind, "patch"):
                await self._take_off(kind, finalizer)
        if purge:
            await self._purge()
        return await self._left(known)

    async def _delete_ours(self, known: Served, kind: Kind) -> None:
        if not known.can(kind, "delete"):
            return
        where = self.namespace if kind.namespaced else ""
        await self._delete(kind, await self.client.list(kind, where, labelSelector=SELECTOR))

    async def _delete(self, kind: Kind, objects: Sequence[Raw]) -> None:
        if not self.rehearse:
            for one in objects:
                meta = one["metadata"]
                with suppress(NotFound):
                    await self.client.delete(kind, meta.get("namespace", ""), meta["name"], uid=meta["uid"])
        if objects:
            self.say(f"{label(objects[0])} deleted" if len(objects) == 1 else f"{len(objects)} {kind.plural} deleted")

    async def _delete_lease(self) -> None:
        """Delete the Lease by its name: the controller created it, so it has no label."""
        with suppress(NotFound):
            await self._delete(kinds.LEASE, [await self.client.get(kinds.LEASE, self.namespace, self.lease)])

    async def _purge(self) -> None:
        """Delete our definitions and the namespace; Kueue's own definitions stay."""
        await self._delete(server.CRD, await self.client.list(server.CRD, labelSelector=SELECTOR))
        try:
            home = await self.client.get(kinds.NAMESPACE, "", self.namespace)
        except NotFound:
            return
        if is_ours(home):
            await self._delete(kinds.NAMESPACE, [home])

    # Finalizers

    async def _take_off(self, kind: Kind, finalizer: str) -> None:
        marked = [meta for meta in await self._metadata(kind) if finalizer in (meta.get("finalizers") or ())]
        for start in range(0, len(marked), IN_FLIGHT):
            some = marked[start : start + IN_FLIGHT]
            if not self.rehearse:
                await asyncio.gather(*(self._loosen(kind, meta, finalizer) for meta in some))
        if marked:
            self.say(f"finalizer {finalizer} removed from {len(marked)} {kind.plural}")

    async def _metadata(self, kind: Kind) -> list[Raw]:
        listing = await self.client.listing(path(kind), accept=METADATA)
        return [msgspec.json.decode(one)["metadata"] for one in listing.items]

    async def _loosen(self, kind: Kind, meta: Raw, finalizer: str) -> None:
        """Remove a finalizer, with retries: others may write at the same time, and a deleted policy may linger."""
        for last in range(TRIES):
            kept = [one for one in meta.get("finalizers") or () if one != finalizer]
            body = {"metadata": {"finalizers": kept, "resourceVersion": meta["resourceVersion"]}}
            try:
                await self.client.patch(kind, meta.get("namespace", ""), meta["name"], body)
                return
            except NotFound:
                return
            except (Conflict, Invalid):
                if last == TRIES - 1:
                    raise
            await asyncio.sleep(last / 2)
            with suppress(NotFound):
                meta = (await self.client.get(kind, meta.get("namespace", ""), meta["name"]))["metadata"]

    # What stays behind

    async def _left(self, known: Served) -> Left:
        """Jobs that stay held, and those that run and have the gate in their templates."""
        left, managed = Left([], []), await self._managed(known)
        for kind, integration in JOBS.items():
            for one in await self._list(known, kind):
                if integration.finished(one) is not None:
                    continue
                if not integration.is_suspended(one):
                    if _is_gated(one.get("spec")) and not has_job_for_owner(self.rules, one):
                        left.gated.append(_name(one))
                elif queue_of(one) or self._is_held_unasked(kind, one, managed):
                    left.held.append(HeldJob(_name(one), "unsuspend it, or delete it"))
        left.held.extend([one async for one in self._gated_pods(known)])
        return left

    async def _gated_pods(self, known: Served) -> AsyncIterator[HeldJob]:
        """Gated pods. One with an owner would be created again, with its gate, if it were deleted."""
        for one in await self._list(known, POD, fieldSelector="status.phase=Pending"):
            gates = [gate["name"] for gate in one["spec"].get("schedulingGates") or () if gate["name"] in GATES]
            if gates:
                is_owned = any(owner.get("controller") for owner in one["metadata"].get("ownerReferences") or ())
                remedy = f"remove the scheduling gate {', '.join(gates)}"
                yield HeldJob(_name(one), remedy if is_owned else f"{remedy}, or delete it")

    async def _managed(self, known: Served) -> set[str]:
        """Namespaces in which jobs without a queue are held."""
        spaces = await self._list(known, kinds.NAMESPACE) if self.rules.all_jobs else ()
        metas = [one["metadata"] for one in spaces]
        return {meta["name"] for meta in metas if self.rules.namespaces.matches(meta.get("labels") or {})}

    def _is_held_unasked(self, kind: Kind, raw: Raw, managed: Container[str]) -> bool:
        """Whether a job without a queue is held; a job that is owned by another follows that one."""
        is_managed = raw["metadata"].get("namespace", "") in managed and job_kind(self.rules, kind) is not None
        return is_managed and not has_job_for_owner(self.rules, raw)

    async def _list(self, known: Served, kind: Kind, **query: str) -> Iterable[Raw]:
        if not known.can(kind, "list"):
            return ()
        try:
            return await self.client.list(kind, **query)
        except (Forbidden, MethodNotAllowed):
            self.say(f"{kind.plural} cannot be listed, so suspended ones are not reported")
            return ()


def _is_gated(tree: Any) -> bool:
    """Whether any pod template in it has the gate that was added when the job was started."""
    if isinstance(tree, list):
        return any(map(_is_gated, tree))
    if not isinstance(tree, dict):
        return False
    gates = tree.get("schedulingGates")
    has_gate = isinstance(gates, list) and {"name": TOPOLOGY_GATE} in gates
    return has_gate or any(map(_is_gated, tree.values()))


def _name(raw: dict[str, Any]) -> str:
    return f"{raw['kind'].lower()} {raw['metadata'].get('namespace', '')}/{raw['metadata']['name']}"
