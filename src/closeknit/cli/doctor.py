"""`closeknit doctor`: check the health of an installation, with a remedy for every problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..cluster.errors import Forbidden
from ..deploy.objects import InstallOptions
from ..model.mistake import InputError
from .exit_codes import NOT_NOW, YES
from .hints import hint
from .install import HOME, configured, installed_configuration
from .output import emit
from .target import is_embedded, run, target_of, target_options

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..deploy.doctor import Finding


@click.command()
@HOME
@click.option("-o", "--output", type=click.Choice(["json", "yaml"]), help="Print the findings as a JSON or YAML list.")
@target_options
def command(namespace: str, output: str | None, **target: Any) -> int:
    """Check the health of Closeknit on a cluster.

    Checks the versions, Kueue's CustomResourceDefinitions and their conversion, the admission policies (installed,
    matching the configuration, in force), the controller's permissions, node labels, reports of NUMA zones and refusals
    of kubelets, queues with missing references, the controller and its leader, a running Kueue or what it left behind,
    and kinds that the server lacks. On an embedded host, which needs no installation, node labels, zones and queues are
    checked. Nothing is changed.

    Each finding is ok, a warning or a problem, with a remedy. The exit code is 3 unless every finding is ok.

    \b
      closeknit doctor
      closeknit doctor --context lab
      closeknit doctor --context lab -o json
    """
    findings = run(target_of(**target), lambda client: _examine(client, namespace, output is None))
    if output is not None:
        emit([_plain(one) for one in findings], output)
    return NOT_NOW if any(one.state for one in findings) else YES


async def _examine(client: Client, namespace: str, is_said: bool) -> list[Finding]:
    import msgspec

    from ..deploy.doctor import ON_ANY_HOST, Finding, FindingLevel, examine
    from .zone_sources import served_view

    findings: list[Finding] = []

    def note(one: Finding) -> None:
        findings.append(one)
        if is_said:
            _say(one)

    async def zones() -> dict[str, Any] | None:
        view = await served_view(client)
        return None if view is None else msgspec.to_builtins(view)

    wishes = InstallOptions(namespace=namespace)
    if await is_embedded(client):
        note(Finding("controller", FindingLevel.OK, "the embedded host runs the control plane itself, and answers"))
        async for one in examine(client, wishes, hint, checks=ON_ANY_HOST, zones_of=zones):
            note(one)
        return findings
    try:
        text = await installed_configuration(client, namespace)
        wishes = configured(wishes, text or wishes.configuration)
    except InputError as error:
        note(
            Finding("configuration", FindingLevel.PROBLEM, f"cannot be read: {error}", "install again with a valid one")
        )
    except Forbidden as refused:
        note(Finding("configuration", FindingLevel.WARNING, f"cannot be read, using the defaults: {refused.message}"))
    async for one in examine(client, wishes, hint, zones_of=zones):
        note(one)
    return findings


def _say(one: Finding) -> None:
    click.echo(f"{one.state.word:<8} {one.check:<12} {one.text}{f'; {one.remedy}' if one.remedy else ''}")


def _plain(one: Finding) -> dict[str, str]:
    return {"check": one.check, "state": one.state.word, "text": one.text, "remedy": one.remedy}
