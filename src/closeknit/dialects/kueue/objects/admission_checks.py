"""AdmissionCheck: a controller that has to approve a workload before it starts."""

from __future__ import annotations

from ....model.cluster_queue import AdmissionCheck
from .wire import Raw, Wire, WireCondition, WireMeta, convert, reader

ACTIVE = "Active"


class Parameters(Wire, frozen=True):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class CheckSpec(Wire, frozen=True):
    controller_name: str = ""
    parameters: Parameters | None = None


class CheckStatus(Wire, frozen=True):
    conditions: tuple[WireCondition, ...] = ()


class WireCheck(Wire, frozen=True):
    metadata: WireMeta = WireMeta()
    spec: CheckSpec = CheckSpec()
    status: CheckStatus = CheckStatus()


@reader
def admission_check(raw: Raw) -> AdmissionCheck:
    wire = convert(raw, WireCheck)
    active = next((one.status == "True" for one in wire.status.conditions if one.type == ACTIVE), None)
    return AdmissionCheck(wire.metadata.name, wire.spec.controller_name, active, _parameters(wire.spec.parameters))


def _parameters(wire: Parameters | None) -> dict[str, str]:
    """The reference to the parameters: apiGroup, kind and name."""
    if wire is None:
        return {}
    return {"apiGroup": wire.api_group, "kind": wire.kind, "name": wire.name}
