"""The entry point: the command group, and the message and exit code of every failure.

The exit codes are in `exit_codes`. Each command is imported only when it is called, so `--help` and shell completion
stay fast.
"""

from __future__ import annotations

import codecs
import importlib
import io
import os
import signal
import sys

import click

from .. import __version__
from ..cluster.errors import Refused
from ..host.garbage import collect_never, keep_what_is_loaded
from ..model.gates import GateError
from ..model.mistake import InputError, NotThere
from .escaped_stream import escaped_streams
from .exit_codes import BAD_INPUT, INTERNAL_ERROR, INTERRUPTED, UNAVAILABLE, YES
from .hints import forget
from .program import PLUGIN, call_it, program
from .target import NoCluster

COMMANDS = {
    "up": "Run a complete cluster on this machine, with an API for kubectl.",
    "controller": "Run the control plane on a Kubernetes cluster.",
    "extender": "Make a stock kube-scheduler place pods by the NUMA zones of nodes.",
    "apply": "Create or update objects from manifests.",
    "get": "List objects: queues, jobs, workloads, nodes.",
    "describe": "Show one object in full: conditions, events, placement, what it waits for.",
    "delete": "Delete objects.",
    "decisions": "Show scheduling decisions: what, when, why, and at what cost.",
    "node": "Cordon, drain or fail nodes and whole racks.",
    "place": "Show where the pods of a job would go.",
    "explain": "Explain why a job waits and what would help, or why it runs where it does.",
    "what-if": "Show what would be admitted, preempted or kept waiting if jobs were submitted.",
    "queue": "Show quota, borrowing and shares of queues; stop and resume queues.",
    "tree": "Show the data centre with free and used capacity per domain.",
    "topology": "Propose a topology from node labels.",
    "check": "Validate manifests without placing anything.",
    "group": "Show the PodGroups of KAI-Scheduler that jobs and pods would get.",
    "numa": "Show the NUMA zones of nodes, and what their kubelets would admit.",
    "convert": "Convert Kueue manifests from older versions to v1beta2.",
    "install": "Install Closeknit on a Kubernetes cluster, or upgrade it.",
    "uninstall": "Remove Closeknit from a Kubernetes cluster.",
    "doctor": "Check the health of an installation, with a remedy for every problem.",
    "crds": "Print the CustomResourceDefinitions of Kueue's kinds.",
    "gates": "List the feature gates, their defaults and effects.",
    "completion": "Print the shell completion script.",
    "demo": "Take a guided tour on a sample data centre.",
}


class Commands(click.Group):
    """Loads each command from the module of its name, which defines the click command `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"closeknit.cli.{cmd_name.replace('-', '_')}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from ..model.nearest import did_you_mean

        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            remedy = did_you_mean(args[0], COMMANDS).strip() or f"use one of: {', '.join(COMMANDS)}"
            raise click.UsageError(f'no command "{args[0]}"; {remedy}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, so that `--help` imports none of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="closeknit")
def cli() -> None:
    """Closeknit places the pods of a distributed job close together.

    On a running cluster, either the embedded host or Kubernetes:

    \b
      closeknit apply -f queues.yaml
      closeknit get jobs
      closeknit explain train

    On files alone, without any cluster (`closeknit demo` shows how):

    \b
      closeknit tree --nodes nodes.yaml
      closeknit place job.yaml --nodes nodes.yaml
      closeknit what-if --cluster cluster.yaml job.yaml
    """


PLAIN = str.maketrans("█▒▓░├└│─·…≥→µ±✗", "#=%.|`|-..>>u~x")
"""ASCII replacements for characters that the terminal's encoding lacks."""


def _plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].translate(PLAIN)
    return text.encode("ascii", "replace").decode(), error.end


def _prepare_streams(alone: bool) -> None:
    """Replace characters that the encoding lacks, and exit quietly when the reader closes the pipe."""
    codecs.register_error("plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="plain")
    if alone and hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def kubectl() -> None:
    """Run as a kubectl plug-in; kubectl finds the program by its name."""
    call_it(PLUGIN)
    main()


def main(args: list[str] | None = None) -> None:
    """Run a command, and turn errors into a message and an exit code."""
    if args is None:
        collect_never()
    _prepare_streams(alone=args is None)
    forget()
    try:
        with escaped_streams():
            _run(args)
    finally:
        if args is None:
            keep_what_is_loaded()  # else the interpreter collects it once more before it ends


def _run(args: list[str] | None) -> None:
    try:
        # Else click drops control sequences where output is no terminal, and they would not be shown as escapes.
        code = cli.main(args, prog_name=program(), standalone_mode=False, color=True)
    except InputError as error:
        for mistake in error.mistakes:
            click.echo(f"error: {mistake}", err=True)
        sys.exit(UNAVAILABLE if isinstance(error, NotThere) else BAD_INPUT)
    except GateError as error:
        then = " " if str(error).endswith("?") else "; "
        click.echo(f"error: {error}{then}`closeknit gates` lists them all", err=True)
        sys.exit(BAD_INPUT)
    except Refused as refused:
        from .refusals import complain

        sys.exit(complain(refused))
    except NoCluster as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(UNAVAILABLE)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(BAD_INPUT)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        click.echo(f"error: {where}{error.strerror or error}; check the path, its permissions and the disk", err=True)
        sys.exit(BAD_INPUT)
    except Exception as error:
        click.echo(
            f"error: internal error: {type(error).__name__}: {error}\n"
            "Please report it with the command and its input. Set CLOSEKNIT_TRACEBACK=1 to see the traceback.",
            err=True,
        )
        if os.environ.get("CLOSEKNIT_TRACEBACK"):
            raise
        sys.exit(INTERNAL_ERROR)
    sys.exit(code if isinstance(code, int) else YES)
