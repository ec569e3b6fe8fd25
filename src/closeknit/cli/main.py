"""The entry point: the command group, and what every failure turns into.

Exit codes are those of `exit_codes`. Commands are imported when they are called, so that `--help` and shell completion
stay quick.
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
from ..model.gates import GateError
from ..model.mistake import InputError, NotThere
from .exit_codes import BAD_INPUT, INTERRUPTED, NOT_HAD, OUR_FAULT, YES
from .hints import forget
from .program import PLUGIN, call_it, program
from .target import NoCluster

COMMANDS = {
    "up": "Run a whole cluster on this machine, with an API for kubectl.",
    "controller": "Run the control plane on a cluster of Kubernetes.",
    "apply": "Create or change objects of a running cluster as manifests say.",
    "get": "Objects of the cluster: queues, jobs, workloads, nodes.",
    "describe": "One object in full: conditions, events, placement, what it waits for.",
    "delete": "Delete objects of the cluster.",
    "decisions": "What was decided, when, why, and at what cost.",
    "node": "Cordon, drain, or let fail nodes and whole racks.",
    "place": "Where the pods of a job would go.",
    "explain": "Why a job waits or does not fit and what would help, or why it is where it is.",
    "what-if": "Who would be admitted, preempted or kept waiting if these jobs were submitted.",
    "queue": "Quota, borrowing and shares of a cluster's queues; stop and resume them.",
    "tree": "The data centre with free and used room per domain.",
    "topology": "Work with topologies: propose one from node labels.",
    "check": "Validate manifests without placing anything.",
    "convert": "Manifests of Kueue's v1beta1 as v1beta2.",
    "install": "Install on a cluster of Kubernetes, or upgrade.",
    "uninstall": "Take it off a cluster of Kubernetes.",
    "doctor": "See whether an installation is well, and what to do where it is not.",
    "crds": "The CustomResourceDefinitions of Kueue's kinds.",
    "gates": "The feature gates, their defaults and what they do.",
    "completion": "Print the shell completion script.",
    "demo": "A guided tour on a sample data centre.",
}


class Commands(click.Group):
    """Commands live in modules of their own name, each with a click command `command`."""

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
        """From the table, so that listing commands imports none of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="closeknit")
def cli() -> None:
    """Closeknit places the pods of a distributed job close together.

    On a running cluster, an embedded one or one of Kubernetes:

    \b
      closeknit apply -f queues.yaml
      closeknit get jobs
      closeknit explain train

    On files alone, with no cluster at all; `closeknit demo` shows how:

    \b
      closeknit tree --nodes nodes.yaml
      closeknit place job.yaml --nodes nodes.yaml
      closeknit what-if --cluster cluster.yaml job.yaml
    """


PLAIN = str.maketrans("█▒░├└│─·…≥→µ±✗", "#=.|`|-..>>u~x")
"""What is drawn with other characters where the terminal's encoding has none of these."""


def _plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].translate(PLAIN)
    return text.encode("ascii", "replace").decode(), error.end


def _prepare_streams(alone: bool) -> None:
    """Nothing that is printed may fail on its encoding, and a reader that stops reading ends us quietly."""
    codecs.register_error("plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="plain")
    if alone and hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def kubectl() -> None:
    """As a plug-in of kubectl, which finds the program by its name."""
    call_it(PLUGIN)
    main()


def main(args: list[str] | None = None) -> None:
    """Run, and turn errors into a sentence and an exit code."""
    _prepare_streams(alone=args is None)
    forget()
    try:
        code = cli.main(args, prog_name=program(), standalone_mode=False)
    except InputError as error:
        for mistake in error.mistakes:
            click.echo(f"error: {mistake}", err=True)
        sys.exit(NOT_HAD if isinstance(error, NotThere) else BAD_INPUT)
    except GateError as error:
        click.echo(f"error: {error}; `closeknit gates` lists them all", err=True)
        sys.exit(BAD_INPUT)
    except Refused as refused:
        from .refusals import complain

        sys.exit(complain(refused))
    except NoCluster as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(NOT_HAD)
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
            f"error: closeknit failed, which is our fault: {type(error).__name__}: {error}\n"
            "Please report it with the command and its input. Set CLOSEKNIT_TRACEBACK=1 to see where.",
            err=True,
        )
        if os.environ.get("CLOSEKNIT_TRACEBACK"):
            raise
        sys.exit(OUR_FAULT)
    sys.exit(code if isinstance(code, int) else YES)
