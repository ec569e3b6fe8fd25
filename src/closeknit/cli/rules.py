"""The feature gates and settings that a command applies to a cluster.

    on files              those of the command line: --profile, --config, --feature-gates, --fair-sharing
    on a running cluster  those of its host or controller, which is asked; the command line overrides them

Where the two differ, a note reports it, since the answer may then differ from the control plane's decision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from ..cluster.errors import Forbidden, NotFound, Refused
from ..model.gates import Gates, parse_changes
from ..model.settings import FAIR, Settings
from ..observe.live_jobs import Managed
from .configuration import read_configuration
from .target import NoCluster

if TYPE_CHECKING:
    from ..cluster.kube.client import Client

SERVED = "/closeknit/config"


class EffectiveRules(NamedTuple):
    """The effective gates and settings; `managed` selects the jobs that are queued."""

    gates: Gates
    settings: Settings
    managed: Managed = Managed()


class Given(NamedTuple):
    """The gates and settings of the command line; `profile` is empty if not given."""

    profile: str
    changes: dict[str, bool]
    settings: Settings | None
    fair_sharing: bool
    managed: Managed | None = None

    @classmethod
    def of(cls, config: str | None, fair_sharing: bool, feature_gates: str, profile: str) -> Given:
        read = None if config is None else read_configuration(config)
        changes = {**({} if read is None else read.changes), **parse_changes(feature_gates)}
        given = profile if is_given("profile") else "" if read is None else read.own.profile
        if read is None:
            return cls(given, changes, None, fair_sharing)
        return cls(given, changes, read.settings, fair_sharing, read.managed(given))

    def alone(self) -> EffectiveRules:
        """The rules without a control plane to ask."""
        return self._over(EffectiveRules(Gates.profile(), Settings()))

    async def on(self, client: Client) -> EffectiveRules:
        """The rules on top of those of the cluster's control plane, if it is ours."""
        theirs = await _fetch_rules(client)
        if theirs is None:
            return self.alone()
        found = self._over(theirs)
        for difference in _differences(theirs, found):
            click.echo(f"note: {difference}; the control plane decides differently", err=True)
        return found

    def _over(self, base: EffectiveRules) -> EffectiveRules:
        gates = (Gates.profile(self.profile) if self.profile else base.gates).changed(self.changes)
        settings = self.settings or base.settings
        if self.fair_sharing and not settings.fair_sharing:
            settings = replace(settings, fair_sharing=FAIR)
        return EffectiveRules(gates, settings, self.managed or base.managed)


def is_given(name: str) -> bool:
    context = click.get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source(name)
    return source not in (None, click.core.ParameterSource.DEFAULT)


async def _fetch_rules(client: Client) -> EffectiveRules | None:
    from ..host.rules import decode

    try:
        found = decode(msgspec.json.encode(await _fetch(client)))
    except NoCluster as error:
        click.echo(f"note: {error}; using the default gates and settings", err=True)
        return None
    except (Refused, msgspec.ValidationError):
        return None
    return EffectiveRules(found.decided_by, found.settings, found.managed)


async def _fetch(client: Client) -> dict[str, Any]:
    """The rules as served by an embedded host, or by the leading controller."""
    from .controller_pod import request_error, way_to_controller

    try:
        return await client.tree("GET", SERVED)
    except (NotFound, Forbidden):
        pass
    async with way_to_controller(client, SERVED) as (asked, path):
        try:
            return await asked.tree("GET", path)
        except Refused as error:
            raise request_error(error) from None


def _differences(theirs: EffectiveRules, ours: EffectiveRules) -> Iterator[str]:
    changed = sorted(theirs.gates.enabled ^ ours.gates.enabled)
    if changed:
        said = ", ".join(f"{name} {'on' if name in ours.gates else 'off'}" for name in changed)
        yield f"using {said} from the command line"
    for name in SETTINGS:
        if getattr(theirs.settings, name) != getattr(ours.settings, name):
            yield f"using {SETTINGS[name]} from the command line"


SETTINGS = {
    "fair_sharing": "fair sharing",
    "exclude_prefixes": "resources.excludeResourcePrefixes",
    "transformations": "resources.transformations",
    "ignore_undeclared": "the rule for undeclared resources",
    "requeue_by": "waitForPodsReady.requeuingStrategy.timestamp",
    "not_ready_delay": "notReadyDelay",
}
