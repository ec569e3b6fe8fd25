"""Definitions that exist before an installation: their owner, their versions, and their conversion webhook.

Kueue's own definitions convert v1beta1 by a webhook of Kueue's process. Without that process no object can be read in
the other version, and lists may fail. To continue without Kueue the definitions are adopted: no conversion, and only
v1beta2 is served. That is safe only if no object is stored in another version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..cluster.kinds import WORKLOAD
from ..cluster.kube.client import Client
from ..model.mistake import Mistake
from .kinds import CRD, ENDPOINT_SLICE
from .marks import Raw, is_ours

OUR_VERSION = WORKLOAD.version


class Backend(NamedTuple):
    """The Service behind a webhook."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


async def of_kueue(client: Client) -> list[Raw]:
    return [one for one in await client.list(CRD) if one["spec"]["group"] == WORKLOAD.group]


def names(raw: Raw) -> str:
    return str(raw["metadata"]["name"])


def served_versions(raw: Raw) -> list[str]:
    return [one["name"] for one in raw["spec"]["versions"] if one.get("served")]


def stored_versions(raw: Raw) -> list[str]:
    return list((raw.get("status") or {}).get("storedVersions") or ())


def converter(raw: Raw) -> Mapping[str, object] | None:
    """The conversion webhook, if there is one."""
    conversion = raw["spec"].get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        return None
    config = (conversion.get("webhook") or {}).get("clientConfig") or {}
    return dict(config)


def backend_of(config: Mapping[str, object]) -> Backend | None:
    """The Service of a webhook; None for a URL."""
    service = config.get("service")
    return Backend(str(service["namespace"]), str(service["name"])) if isinstance(service, dict) else None


async def is_alive(client: Client, backend: Backend) -> bool:
    """Whether the Service has ready endpoints."""
    slices = await client.list(
        ENDPOINT_SLICE, backend.namespace, labelSelector=f"kubernetes.io/service-name={backend.name}"
    )
    return any(
        (one.get("conditions") or {}).get("ready") is not False and one.get("addresses")
        for part in slices
        for one in part.get("endpoints") or ()
    )


def needs_adoption(raw: Raw) -> bool:
    others = [one for one in served_versions(raw) if one != OUR_VERSION]
    return not is_ours(raw) and (converter(raw) is not None or bool(others))


def not_adoptable(raw: Raw) -> Iterator[Mistake]:
    """Why a definition cannot be adopted: every object has to be stored as v1beta2."""
    stored = stored_versions(raw)
    if stored != [OUR_VERSION]:
        text = f"is [{', '.join(stored)}]: objects may be stored in a version that would no longer be served"
        remedy = f"rewrite every object as {OUR_VERSION} and set status.storedVersions to [{OUR_VERSION}]"
        yield Mistake(text, remedy, what=f"customresourcedefinition/{names(raw)}", field="status.storedVersions")


def adopted(raw: Raw) -> Raw:
    """The adoption as a patch; a Conflict if the definition has changed meanwhile."""
    versions = [{**one, "served": one["name"] == OUR_VERSION} for one in raw["spec"]["versions"]]
    return {
        "metadata": {"resourceVersion": raw["metadata"]["resourceVersion"]},
        "spec": {"conversion": {"strategy": "None", "webhook": None}, "versions": versions},
    }


async def adopt(client: Client, raw: Raw, **query: str) -> Raw:
    return await client.patch(CRD, "", names(raw), adopted(raw), "merge", **query)
