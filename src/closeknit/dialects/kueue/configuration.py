"""Kueue's configuration: the rules of admission, which jobs are managed, and how the process runs.

It is read from a file, or from the ConfigMap in Kueue's manifests. Decoding is strict, like Kueue's; a field that has
no effect here causes a warning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from ...model.address import Address, address
from ...model.cluster_queue import Selector
from ...model.gates import ALL_GATES
from ...model.label_names import is_qualified_name, is_subdomain
from ...model.nearest import did_you_mean
from ...model.quantity import QuantityError, nanos
from ...model.settings import FAIR, FINAL_SHARE, INITIAL_SHARE, PodsReady, Settings, Transformation
from ..field import Field, shown
from ..label_selectors import read_selector
from ..node_choice import LABEL_NAME, one_of
from ..spans import optional_seconds, seconds
from ..strictness import amount, check_fields, truth
from .configuration_fields import FIELDS, OLD_FIELDS
from .jobs.kinds import FRAMEWORKS, NOT_RUN

GROUP = "config.kueue.x-k8s.io"
KIND = "Configuration"
FILE = "controller_manager_config.yaml"
"""The key of the configuration in its ConfigMap."""
VERSIONS = (f"{GROUP}/v1beta2", f"{GROUP}/v1beta1")

STRATEGIES = (FINAL_SHARE, INITIAL_SHARE)
CHECKS = ("BlockUndeclared", "IgnoreUndeclared")

KUEUE_LEASE = "c1f6bfd2.kueue.x-k8s.io"
"""The Lease of Kueue's leader election."""
LEASE = "closeknit-controller"
KUEUE_FRAMEWORKS = frozenset({"batch/job"})
"""What Kueue manages by default."""


class Election(NamedTuple):
    """Leader election: the Lease, and its duration, renew deadline and retry period in seconds.

    `namespace` is empty if not set.
    """

    wanted: bool = True
    name: str = LEASE
    namespace: str = ""
    duration: float = 10.0
    deadline: float = 7.0
    retry: float = 2.0


class ClientLimits(NamedTuple):
    """Requests per second, and burst."""

    qps: float = 500.0
    burst: int = 1000


@dataclass(frozen=True, slots=True)
class Configuration:
    """`settings` and `gates` decide about admission; the rest configures the running control plane.

    `frameworks` and `namespaces` are None if not set. An address of None means that the server is disabled.
    """

    settings: Settings = field(default_factory=Settings)
    gates: dict[str, bool] = field(default_factory=dict)
    pods_ready: PodsReady | None = PodsReady()  # noqa: RUF009 - a value
    keep_finished: float | None = None
    without_queue: bool = False
    namespace: str = ""
    namespaces: Selector | None = None
    frameworks: frozenset[str] | None = None
    copied_labels: tuple[str, ...] = ()
    connection: ClientLimits = ClientLimits()  # noqa: RUF009 - a value
    election: Election = Election()  # noqa: RUF009 - a value
    health: Address | None = None
    metrics: Address | None = None


def configuration(root: Field) -> Configuration:
    """Read the configuration; mistakes go to the field's report."""
    is_old = root.at("apiVersion").text().endswith("/v1beta1")
    if root.at("apiVersion").given:
        one_of(root.at("apiVersion"), VERSIONS)
    check_fields(root, OLD_FIELDS if is_old else FIELDS)
    resources, wait = root.at("resources"), root.at("waitForPodsReady")
    strategy, stamp = resources.at("quotaCheckStrategy"), wait.at("requeuingStrategy", "timestamp")
    if strategy.given:
        one_of(strategy, CHECKS)
    if stamp.given:
        one_of(stamp, ("Eviction", "Creation"))
    settings = Settings(
        _fair_sharing(root.at("fairSharing"), is_old),
        tuple(one.text() for one in resources.at("excludeResourcePrefixes").items()),
        tuple(_transformation(one) for one in resources.at("transformations").items()),
        strategy.text() == "IgnoreUndeclared",
        cast(Any, stamp.text("Eviction")),
    )
    return Configuration(
        settings,
        _gates(root.at("featureGates")),
        _pods_ready(wait, is_old),
        optional_seconds(root.at("objectRetentionPolicies", "workloads", "afterFinished")),
        truth(root.at("manageJobsWithoutQueueName")),
        _name(root.at("namespace")),
        _namespaces(root.at("managedJobsNamespaceSelector")),
        _frameworks(root.at("integrations", "frameworks")),
        tuple(_label(one) for one in root.at("integrations", "labelKeysToCopy").items()),
        _connection(root.at("clientConnection")),
        _election(root.at("leaderElection")),
        _address(root.at("health", "healthProbeBindAddress")),
        _address(root.at("metrics", "bindAddress")),
    )


# Which jobs


def _namespaces(selector: Field) -> Selector | None:
    return read_selector(selector) if selector.given else None


def _frameworks(named: Field) -> frozenset[str] | None:
    found = set()
    for one in named.items():
        name = one.text()
        if name in NOT_RUN:
            one.warn(f"is {name}, which is not supported", "jobs of this kind are ignored")
        elif name in FRAMEWORKS:
            found.add(name)
        else:
            near = did_you_mean(name, FRAMEWORKS).strip()
            one.wrong(
                f"is {shown(name)}, not a known kind of job", near or f"use one of: {', '.join(sorted(FRAMEWORKS))}"
            )
    return frozenset(found) if named.given else None


def _label(one: Field) -> str:
    if not is_qualified_name(one.text()):
        one.wrong(f"is {shown(one.value)}, not a label name", LABEL_NAME)
    return one.text()


def _name(one: Field) -> str:
    if one.text() and not is_subdomain(one.text()):
        one.wrong(f"is {shown(one.value)}, not a valid object name", "use lower-case letters, digits and dashes")
    return one.text()


# How the process runs


def _connection(given: Field) -> ClientLimits:
    usual = ClientLimits()
    burst = given.at("burst")
    return ClientLimits(amount(given.at("qps"), usual.qps), burst.count(usual.burst))


def _election(given: Field) -> Election:
    name = _name(given.at("resourceName"))
    if name == KUEUE_LEASE:
        given.at("resourceName").warn("is Kueue's own Lease, and is not used", "Closeknit's Lease has its own name")
        name = ""
    usual, times = Election(), ("leaseDuration", "renewDeadline", "retryPeriod")
    duration, deadline, retry = (
        old if (new := optional_seconds(given.at(key))) is None else new
        for key, old in zip(times, (usual.duration, usual.deadline, usual.retry), strict=True)
    )
    if not duration > deadline > retry > 0 or duration < 1:
        text = f"lasts {duration:g} s, is renewed within {deadline:g} s and tried every {retry:g} s"
        given.wrong(text, f"use {' > '.join(times)} > 0s, and at least 1s of the first")
    home = _name(given.at("resourceNamespace"))
    return Election(truth(given.at("leaderElect"), True), name or usual.name, home, duration, deadline, retry)


def _address(given: Field) -> Address | None:
    """An address to listen on; None for `0`, which disables the server."""
    text = "" if given.value == 0 else given.text()
    if text in ("", "0"):
        return None
    try:
        return address(text)
    except ValueError:
        given.wrong(f"is {shown(text)}, not an address", "use HOST:PORT, :PORT for every interface, or 0 for none")
        return None


# Admission


def _pods_ready(wait: Field, is_old: bool) -> PodsReady | None:
    """Enabled if present; v1beta1 also has an `enable` field."""
    if is_old and wait.at("enable").value is not True:
        return None
    usual = PodsReady(timeout=300.0, blocks=True) if is_old else PodsReady()
    requeuing, blocks = wait.at("requeuingStrategy"), wait.at("blockAdmission")
    limit, recovery, timeout = requeuing.at("backoffLimitCount"), wait.at("recoveryTimeout"), wait.at("timeout")
    return PodsReady(
        seconds(timeout) if timeout.given else usual.timeout,
        optional_seconds(recovery),
        limit.count() if limit.given else None,
        float(requeuing.at("backoffBaseSeconds").count(int(usual.base))),
        float(requeuing.at("backoffMaxSeconds").count(int(usual.longest))),
        truth(blocks, usual.blocks),
    )


def _fair_sharing(sharing: Field, is_old: bool) -> tuple[str, ...]:
    """Enabled if present; v1beta1 also has an `enable` field."""
    if not sharing.given or (is_old and sharing.at("enable").value is not True):
        return ()
    given = sharing.at("preemptionStrategies").items()
    for one in given:
        one_of(one, STRATEGIES)
    named = tuple(one.text() for one in given)
    if len(named) > 1 and named != FAIR:
        sharing.at("preemptionStrategies").wrong(f"is {', '.join(named)}", f"use one, or {', '.join(FAIR)}")
    return named or FAIR


def _transformation(one: Field) -> Transformation:
    strategy = one.at("strategy")
    if strategy.given:
        one_of(strategy, ("Retain", "Replace"))
    if not one.at("input").text():
        one.at("input").wrong("is missing", "name the resource to be replaced")
    outputs = {name: _factor(factor) for name, factor in one.at("outputs").fields().items()}
    return Transformation(
        one.at("input").text(), outputs, strategy.text("Retain") != "Replace", one.at("multiplyBy").text()
    )


def _factor(factor: Field) -> int:
    try:
        return nanos(str(factor.value))
    except (QuantityError, ValueError):
        factor.wrong(f"is {shown(factor.value)}, not a quantity", "use a quantity such as 500m, 2 or 1.5Gi")
        return 0


def _gates(gates: Field) -> dict[str, bool]:
    """Warn of gates that Kueue may know and that have no effect here."""
    changes = {}
    for name, value in gates.fields().items():
        if name in ALL_GATES:
            changes[name] = truth(value)
        else:
            value.warn("is not a known feature gate", "it is ignored")
    return changes
