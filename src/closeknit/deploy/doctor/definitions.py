"""Whether every Kueue kind is served as v1beta2, by which definition, and whether its objects can be read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from .. import definitions as there
from ..crds import KUEUE_KINDS
from ..install import is_true
from ..marks import Raw, is_ours
from .finding import Finding, Patient, few, ok, problem, warning

CHECK = "definitions"


async def check(patient: Patient) -> AsyncIterator[Finding]:
    found = {there.names(one): one for one in await there.of_kueue(patient.client)}
    missing = [kind.resource for kind in KUEUE_KINDS if kind.resource not in found]
    if missing:
        remedy = f"`{patient.command('install')}` creates them"
        yield problem(CHECK, f"not defined: {few(missing)}", remedy)
    needed = [found[kind.resource] for kind in KUEUE_KINDS if kind.resource in found]
    wrong = [one async for one in _wrong(patient, needed)]
    for one in wrong:
        yield one
    if needed and not wrong:
        ours = sum(map(is_ours, needed))
        mixed = f"{ours} Closeknit's, the others Kueue's" if ours else "Kueue's"
        owner = "Closeknit's" if ours == len(needed) else mixed
        text = f"{len(needed)} kinds of kueue.x-k8s.io are served as {there.OUR_VERSION}; definitions: {owner}"
        is_only = any(there.served_versions(one) == [there.OUR_VERSION] for one in needed)
        yield ok(CHECK, text + ("; manifests of older versions: `closeknit convert` rewrites them" if is_only else ""))


async def _wrong(patient: Patient, needed: Iterable[Raw]) -> AsyncIterator[Finding]:
    dead: dict[str, list[str]] = {}
    for one in needed:
        name = there.names(one)
        if not is_true(one, "Established"):
            yield problem(CHECK, f"{name} is not established", f"see `kubectl describe crd {name}`")
        elif there.OUR_VERSION not in there.served_versions(one):
            text = f"{name} serves {', '.join(there.served_versions(one))}, not {there.OUR_VERSION}"
            yield problem(CHECK, text, "upgrade Kueue's definitions to 0.15 or newer")
        async for backend in _dead_backend(patient, one):
            dead.setdefault(backend, []).append(name)
        if not is_ours(one) and there.stored_versions(one) != [there.OUR_VERSION]:
            text = f"{name} may hold objects that are stored as {', '.join(there.stored_versions(one))}"
            yield warning(CHECK, text, f"rewrite them as {there.OUR_VERSION} and set status.storedVersions")
    for backend, names in dead.items():
        text = f"the conversion webhook of {few(names)} calls Service {backend}, which has no endpoints"
        yield problem(
            CHECK, text, f"start Kueue again, or continue without it: `{patient.command('install', '--adopt-crds')}`"
        )


async def _dead_backend(patient: Patient, one: Raw) -> AsyncIterator[str]:
    config = there.converter(one)
    backend = None if config is None else there.backend_of(config)
    if backend is not None and not await there.is_alive(patient.client, backend):
        yield str(backend)
