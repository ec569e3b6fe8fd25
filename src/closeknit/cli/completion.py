"""`closeknit completion SHELL`, and the completions: kinds from the table, names from the current cluster.

Completion answers at once or not at all: a slow or absent cluster offers no names, and errors are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import get_completion_class

from ..cluster import kinds
from ..cluster.kinds import KINDS, Kind

if TYPE_CHECKING:
    from ..cluster.kube.client import Client

Complete = Callable[[click.Context, click.Parameter, str], list[str]]

PATIENCE = 1.0
MOST = 500


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the shell completion script.

    \b
      bash:  eval "$(closeknit completion bash)"
      zsh:   eval "$(closeknit completion zsh)"
      fish:  closeknit completion fish | source
    """
    from .main import cli

    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(cli, {}, "closeknit", "_CLOSEKNIT_COMPLETE").source())


def complete_kinds_and_names(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Complete `KIND NAME…` or `KIND/NAME…`: first kinds, then names of that kind."""
    from .naming import ALL, kinds_by_name

    before = context.params.get(parameter.name or "") or ()
    first, slash, name = begun.partition("/")
    if slash:
        kind = kinds_by_name().get(first.lower())
        return [f"{first}/{one}" for one in _names(context, kind, name)] if kind is not None else []
    if not before:
        return sorted(name for name in (ALL, *(kind.plural for kind in KINDS)) if name.startswith(begun.lower()))
    kind = kinds_by_name().get(str(before[0]).lower())
    return [] if kind is None else [one for one in _names(context, kind, begun) if one not in before]


def complete_names(*of: Kind, words: Sequence[str] = ()) -> Complete:
    """Complete names of these kinds; the first argument may also be one of `words`."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
        is_first = not context.params.get(parameter.name or "")
        found = [word for word in words if word.startswith(begun) and is_first]
        return [*found, *(name for kind in of for name in _names(context, kind, begun))]

    return complete


def complete_domains(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Complete node names and the values of every topology level."""

    async def ask(client: Client) -> list[str]:
        from ..cluster.kube.client import METADATA
        from .placements import levels_of

        levels = {level for one in await client.list(kinds.TOPOLOGY) for level in levels_of(one)}
        nodes = await client.list(kinds.NODE, accept=METADATA)
        labels = [node["metadata"].get("labels") or {} for node in nodes]
        values = {one[level] for one in labels for level in levels if level in one}
        return [*(node["metadata"]["name"] for node in nodes), *values]

    return sorted({name for name in _asked(context, ask) if name.startswith(begun)})


def _names(context: click.Context, kind: Kind | None, begun: str) -> list[str]:
    async def ask(client: Client) -> list[str]:
        import msgspec

        from ..cluster.kube.client import METADATA, path

        assert kind is not None
        home = context.params.get("namespace") or client.config.namespace
        place = path(kind, home if kind.namespaced else "")
        page = await client.request("GET", place, query={"limit": MOST}, accept=METADATA)
        return [one["metadata"]["name"] for one in msgspec.json.decode(page)["items"]]

    return sorted(name for name in _asked(context, ask) if name.startswith(begun)) if kind is not None else []


def _asked(context: click.Context, ask: Callable[[Client], Any]) -> list[str]:
    """The current cluster's answer; empty on any error or timeout."""
    try:
        import asyncio

        from ..cluster.kube.client import Client
        from .target import target_of

        config = target_of(*(context.params.get(name) for name in ("kubeconfig", "context", "data"))).config

        async def connected() -> list[str]:
            async with asyncio.timeout(PATIENCE), Client(config) as client:
                found: list[str] = await ask(client)
                return found

        return asyncio.run(connected())
    except Exception:  # a shell in the middle of a command line is no place to report errors
        return []
