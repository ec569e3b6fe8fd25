"""`closeknit group`: show the PodGroups that a cluster with KAI's pod grouper would make of jobs and pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import click

from ..cluster.files import STDIN, documents, stdin_kept
from ..cluster.files import files as files_of
from ..cluster.located import located
from ..cluster.mistakes import SHOWN, Mistakes
from ..dialects.kai import keys
from ..dialects.kai.grouper import Grouping, group_objects
from ..dialects.kueue.jobs.identity import ObjectIdentity
from ..model.mistake import Mistake, refuse
from .exit_codes import YES
from .output import OUTPUT, emit_manifests, write

Raw = dict[str, Any]
Row = tuple[str, ...]

PROFILES = ("closeknit", "kai")
HEAD = ("GROUP", "PODS", "NEEDS", "CONSTRAINT")
WIDE = ("QUEUE", "PRIORITY CLASS", "MADE FOR")


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default=PROFILES[0],
    show_default=True,
    help="kai: group as KAI-Scheduler does, also where that keeps nothing together.",
)
@OUTPUT
def command(files: tuple[str, ...], profile: str, output: str | None) -> int:
    """Show the PodGroups of KAI-Scheduler that jobs and pods belong to, or would get.

    FILE is a YAML or JSON manifest, a directory of manifests, or - for standard input. A job without pods among the
    files gets those that its controller would create. Pods are grouped by their owners, and each alone without one;
    pods that name a PodGroup stay in it. Groups are checked against the Topologies among the files, if there are any.
    -o yaml and -o json print the PodGroups that have to be created.

    \b
      closeknit group train.yaml topology.yaml
      GROUP             PODS  NEEDS          CONSTRAINT
      default/pg-train  17    17 pods        required zone of network
      ├ master          1     1 pod
      └ worker          16    2 of 2 groups
        ├ worker-0      8     8 pods         required rack of network
        └ worker-1      8     8 pods         required rack of network

    \b
      closeknit group job.yaml --profile kai
      kubectl get jobs,pods -o yaml | closeknit group - -o yaml
    """
    if files.count(STDIN) > 1:
        raise refuse("standard input can be read only once", "give it once", what=STDIN)
    every = [file for path in files for file in files_of(path)]
    with stdin_kept() if STDIN in every else nullcontext():
        objects = [one for file in every for one in documents(file)]
        grouped = group_objects(objects, like_kai=profile == "kai")
        _tell_warnings(located(grouped.warnings, objects))
        mistakes = Mistakes()
        for mistake in located(grouped.mistakes, objects):
            mistakes.add(mistake)
        mistakes.check()
    for kind in grouped.skipped:
        click.echo(f"note: {kind} is skipped: it is no job or pod that KAI groups", err=True)
    if output in ("json", "yaml"):
        made = [one.pod_group for one in grouped.groupings if one.owner]
        if not made:
            click.echo("note: there are no PodGroups to create", err=True)
        emit_manifests(made, output)
    elif grouped.groupings:
        write(_table(grouped.groupings, wide=output == "wide"))
    else:
        click.echo("nothing to group")
    return YES


def _tell_warnings(warnings: Sequence[Mistake]) -> None:
    for warning in warnings[:SHOWN]:
        click.echo(f"warning: {warning}", err=True)
    if len(warnings) > SHOWN:
        click.echo(f"warning: and {len(warnings) - SHOWN} more", err=True)


def _table(groupings: Iterable[Grouping], wide: bool) -> Iterator[str]:
    rows: list[Row] = [HEAD + WIDE if wide else HEAD]
    for one in groupings:
        spec = one.pod_group.get("spec") or {}
        more = (spec.get("queue", ""), spec.get("priorityClassName", ""), one.owner or "– (given)")
        for row in _rows(one):
            rows.append(row + more if wide else row)
            more = ("", "", "")
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _rows(grouping: Grouping) -> Iterator[Row]:
    """The group and its tree of sub-groups."""
    identity = ObjectIdentity.of("", grouping.pod_group)
    spec = identity.field.at("spec").mapping()
    children: dict[str, list[Raw]] = {}
    for entry in spec.get("subGroups") or ():
        children.setdefault(entry.get("parent") or "", []).append(entry)
    below = list(_below("", "", children, Counter(_sub_group(pod) for pod in grouping.pods)))
    apart = identity.field.at("metadata", "annotations", keys.APART).text()
    bounds = "; ".join(filter(None, [_constraint(spec), f"apart: {apart}" if apart else ""]))
    needs = _needs(spec, len(children.get("", ())))
    yield f"{identity.namespace}/{identity.name}", str(len(grouping.pods)), needs, bounds
    yield from below


def _below(parent: str, indent: str, children: dict[str, list[Raw]], pods: Counter[str]) -> Iterator[Row]:
    """The rows below an entry; the pods of each entry are added to those of its parent."""
    entries = children.get(parent, ())
    for number, entry in enumerate(entries, 1):
        name, is_last = entry["name"], number == len(entries)
        below = list(_below(name, indent + ("  " if is_last else "│ "), children, pods))
        needs = _needs(entry, len(children.get(name, ())))
        yield f"{indent}{'└' if is_last else '├'} {name}", str(pods[name]), needs, _constraint(entry)
        yield from below
        pods[parent] += pods[name]


def _needs(entry: Raw, groups: int) -> str:
    """6 pods, or 2 of 3 groups; an entry with children needs all of them if it does not say otherwise."""
    least = entry.get("minMember")
    if groups and least is None:
        return f"{entry.get('minSubGroup') or groups} of {groups} {'group' if groups == 1 else 'groups'}"
    return f"{least or 0} {'pod' if least == 1 else 'pods'}"


def _constraint(entry: Raw) -> str:
    given = entry.get("topologyConstraint") or {}
    words = ("required", "preferred")
    levels = [f"{word} {level}" for word in words if (level := given.get(f"{word}TopologyLevel"))]
    topology = f" of {given['topology']}" if given.get("topology") else ""
    return f"{', '.join(levels)}{topology}" if levels else ""


def _sub_group(pod: Raw) -> str:
    return str((pod["metadata"].get("labels") or {}).get(keys.SUB_GROUP, ""))
