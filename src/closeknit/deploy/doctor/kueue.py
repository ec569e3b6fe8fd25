"""Whether Kueue itself still runs, or has left webhooks behind that block requests."""

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
            text = f"Kueue runs too: {holder} renews the Lease {meta['namespace']}/{meta['name']}"
            yield problem(CHECK, text, "run only one of the two: scale Kueue's controller to 0, or uninstall closeknit")
    async for one in _dead_webhooks(patient):
        wrong = True
        yield one
    if not wrong:
        yield ok(CHECK, "Kueue does not run, and none of its webhooks blocks requests")


async def leases(client: Client) -> list[Raw]:
    return await client.list(LEASE, fieldSelector=f"metadata.name={KUEUE_LEASE}")


async def _dead_webhooks(patient: Patient) -> AsyncIterator[Finding]:
    """Webhooks that reject every request because their Service has no endpoints."""
    for kind in (MUTATING_WEBHOOK, VALIDATING_WEBHOOK):
        for one in await patient.client.list(kind):
            backends = {found for hook in one.get("webhooks") or () if (found := _asked(hook)) is not None}
            for backend in sorted(backends):
                if not await is_alive(patient.client, backend):
                    name = one["metadata"]["name"]
                    hook = f"{kind.kind.lower()} {name}"
                    text = f"{hook} calls Service {backend}, which has no endpoints: it rejects objects"
                    yield problem(CHECK, text, f"`kubectl delete {hook}`")


def _asked(hook: Raw) -> Backend | None:
    """The Service of a webhook that concerns Kueue's kinds, or has a name of Kueue's installation."""
    backend = backend_of(hook.get("clientConfig") or {})
    about = {group for rule in hook.get("rules") or () for group in rule.get("apiGroups") or ()}
    is_kueue = GROUP in about or (backend is not None and "kueue" in str(backend))
    return backend if is_kueue else None
