"""Closeknit's own configuration: settings that Kueue's configuration has no field for.

apiVersion: config.closeknit.dev/v1alpha1
kind: Configuration
profile: closeknit
notReadyDelay: 30s
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model.gates import ALL_GATES, PROFILES
from ..model.nearest import did_you_mean
from ..model.numa_settings import NumaSettings
from ..model.request import Order
from ..model.settings import NOT_READY_DELAY, SEARCH_STEPS, START_TIMEOUT
from .field import Field
from .node_choice import one_of
from .numa_settings import FIELDS as NUMA_FIELDS
from .numa_settings import read_numa
from .spans import seconds
from .strictness import READ, Tree, amount, check_fields, truth

GROUP = "config.closeknit.dev"
VERSION = f"{GROUP}/v1alpha1"

FIELDS: dict[str, Tree] = {
    "apiVersion": READ,
    "kind": READ,
    "profile": READ,
    "featureGates": READ,
    "notReadyDelay": READ,
    "startTimeout": READ,
    "writesPerSecond": READ,
    "eventsPerSecond": READ,
    "trustedAccounts": READ,
    "groups": {"order": READ, "steps": READ},
    "numa": NUMA_FIELDS,
}


@dataclass(frozen=True, slots=True)
class OwnConfiguration:
    """`profile` is empty if not set. A rate or time of 0 means no limit.

    `trusted` are user names, besides the controller's own, that may write what it decides.
    """

    profile: str = ""
    gates: dict[str, bool] = field(default_factory=dict)
    not_ready_delay: float = NOT_READY_DELAY
    writes_per_second: float = 0.0
    events_per_second: float = 50.0
    trusted: tuple[str, ...] = ()
    start_timeout: float = START_TIMEOUT
    group_order: Order = "binpack"
    group_steps: int = SEARCH_STEPS
    numa: NumaSettings = field(default_factory=NumaSettings)


def own_configuration(root: Field) -> OwnConfiguration:
    """Read the configuration; mistakes go to the field's report."""
    one_of(root.at("apiVersion"), (VERSION,))
    check_fields(root, FIELDS)
    usual, profile, delay = OwnConfiguration(), root.at("profile"), root.at("notReadyDelay")
    start = root.at("startTimeout")
    if profile.given:
        one_of(profile, PROFILES)
    return OwnConfiguration(
        profile.text(),
        _gates(root.at("featureGates")),
        seconds(delay) if delay.given else usual.not_ready_delay,
        amount(root.at("writesPerSecond"), usual.writes_per_second),
        amount(root.at("eventsPerSecond"), usual.events_per_second),
        tuple(_account(one) for one in root.at("trustedAccounts").items()),
        seconds(start) if start.given else usual.start_timeout,
        _order(root.at("groups", "order")),
        root.at("groups", "steps").count(SEARCH_STEPS, least=1),
        read_numa(root.at("numa")),
    )


def _order(order: Field) -> Order:
    if order.given:
        one_of(order, ("binpack", "spread"))
    return "spread" if order.text() == "spread" else "binpack"


def _account(name: Field) -> str:
    """The name of a user, as the server knows it."""
    if not name.text():
        name.wrong("is not the name of a user", "use a name such as system:serviceaccount:NAMESPACE:NAME")
    return name.text()


def _gates(gates: Field) -> dict[str, bool]:
    """Unlike in Kueue's configuration, an unknown gate is a mistake."""
    changes = {}
    for name, value in gates.fields().items():
        if name in ALL_GATES:
            changes[name] = truth(value)
        else:
            value.wrong(
                "is not a known feature gate",
                did_you_mean(name, ALL_GATES).strip() or "run `closeknit gates` to list them",
            )
    return changes
