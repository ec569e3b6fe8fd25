"""Whether Kueue itself still runs, or has left something behind that is in the way."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ...cluster.kinds import LEASE
from ...cluster.kube.client import Client
from ...dialects.kueue.configuration import KUEUE_LEASE
from ..definitions import Backend, backend_of, is_alive
from ..kinds import MUTATING_WEBHOOK, VALIDATING_WEBHOOK
from ..marks import Raw
from .finding import Finding, Patient, ok, problem
from .lease import is_renewed

CHECK = "kueue"
GROUP = "kueue.x-k8s.io"


async def check(patient: Patient) -> AsyncIterator[Finding]:
    wrong = False
    for lease in await leases(patient.client):
        if await is_renewed(patient, lease):
            wrong = True
            meta, holder = lease["metadata"], lease["spec"]["holderIdentity"]
            text = f"Kueue runs beside us: {holder} renews the Lease {meta['namespace']}/{meta['name']}"
            yield problem(CHECK, text, "let one of the two decide: scale Kueue's controller to 0, or uninstall us")
    async for one in _dead_webhooks(patient):
        wrong = True
        yield one
    if not wrong:
        yield ok(CHECK, "no Kueue runs beside us, and no webhook of it is in the way")


async def leases(client: Client) -> list[Raw]:
    return await client.list(LEASE, fieldSelector=f"metadata.name={KUEUE_LEASE}")


async def _dead_webhooks(patient: Patient) -> AsyncIterator[Finding]:
    """Those that ask a Service behind which is nobody, and so refuse what they are asked about."""
    for kind in (MUTATING_WEBHOOK, VALIDATING_WEBHOOK):
        for one in await patient.client.list(kind):
            backends = {found for hook in one.get("webhooks") or () if (found := _asked(hook)) is not None}
            for backend in sorted(backends):
                if not await is_alive(patient.client, backend):
                    name = one["metadata"]["name"]
                    text = (
                        f"{kind.kind.lower()} {name} asks Service {backend}, behind which is nobody: it refuses objects"
                    )
                    yield problem(CHECK, text, f"`kubectl delete {kind.kind.lower()} {name}`")


def _asked(hook: Raw) -> Backend | None:
    """Of webhooks that are about Kueue's kinds, or are called as those of Kueue's installation."""
    backend = backend_of(hook.get("clientConfig") or {})
    about = {group for rule in hook.get("rules") or () for group in rule.get("apiGroups") or ()}
    is_kueue = GROUP in about or (backend is not None and "kueue" in str(backend))
    return backend if is_kueue else None
