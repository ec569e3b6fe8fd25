"""ProvisioningRequestConfig: how an admission check asks the cluster's autoscaler for nodes."""

from __future__ import annotations

import msgspec

from ....model.provisioning import DEFAULT_RETRY, ProvisioningConfig, RetryPolicy
from .wire import Raw, Wire, WireMeta, convert, reader


class RetryStrategy(Wire, frozen=True):
    backoff_limit_count: int | None = None
    backoff_base_seconds: int | None = None
    backoff_max_seconds: int | None = None


class SelectorUpdate(Wire, frozen=True):
    key: str = ""
    value_from_provisioning_class_detail: str = ""


class ProvisioningUpdates(Wire, frozen=True):
    node_selector: tuple[SelectorUpdate, ...] = ()


class ProvisioningSpec(Wire, frozen=True):
    provisioning_class_name: str = ""
    parameters: dict[str, str] = msgspec.field(default_factory=dict)
    managed_resources: tuple[str, ...] = ()
    retry_strategy: RetryStrategy | None = None
    pod_set_updates: ProvisioningUpdates | None = None
    pod_set_merge_policy: str | None = None


class WireProvisioning(Wire, frozen=True):
    metadata: WireMeta = WireMeta()
    spec: ProvisioningSpec = ProvisioningSpec()


@reader
def provisioning_config(raw: Raw) -> ProvisioningConfig:
    wire = convert(raw, WireProvisioning)
    spec = wire.spec
    updates = spec.pod_set_updates or ProvisioningUpdates()
    return ProvisioningConfig(
        wire.metadata.name,
        spec.provisioning_class_name,
        spec.parameters,
        spec.managed_resources,
        _retry(spec.retry_strategy or RetryStrategy()),
        {one.key: one.value_from_provisioning_class_detail for one in updates.node_selector},
        spec.pod_set_merge_policy or None,
    )


def _retry(wire: RetryStrategy) -> RetryPolicy:
    """The retry policy; defaults replace absent fields, not a 0."""
    given = (wire.backoff_limit_count, wire.backoff_base_seconds, wire.backoff_max_seconds)
    return RetryPolicy(
        *(default if number is None else number for number, default in zip(given, DEFAULT_RETRY, strict=True))
    )
