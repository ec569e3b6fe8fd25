"""`closeknit completion SHELL`: what to put into the shell's start-up file."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


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
