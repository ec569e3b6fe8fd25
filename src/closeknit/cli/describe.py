"""`closeknit describe`: show one object in full, with its placement, what it waits for, and its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from time import time
from typing import TYPE_CHECKING, Any

import click

from ..cluster import kinds
from ..cluster.embedded.rest.ages import age
from ..cluster.errors import NotFound, Refused
from ..cluster.kinds import Kind
from ..model.mistake import refuse
from ..model.number import number_of
from ..report.placement import branches
from ..report.table import table
from .columns import listed, newest_of, owner_named
from .completion import complete_kinds_and_names
from .exit_codes import YES
from .hints import hint
from .holders import held_by
from .lost_nodes import hits, hits_of, sentence
from .naming import objects_named
from .output import write, yaml_lines
from .placements import Atlas, Raw, groups_of, holds, is_going, reason_of, state_of
from .refusals import complain
from .target import NAMESPACE, run, target_of, target_options

if TYPE_CHECKING:
    from ..cluster.kube.client import Client

MOST_EVENTS = 20
_NO_NOTES = ("kubectl.kubernetes.io/last-applied-configuration",)


@click.command()
@click.argument("what", nargs=-1, required=True, metavar="KIND NAME...", shell_complete=complete_kinds_and_names)
@NAMESPACE
@target_options
def command(what: tuple[str, ...], namespace: str | None, **target: Any) -> int:
    """Show one object in full: conditions, events, placement, what it waits for.

    For a workload or its job, also shows where the pods are, as a tree, or why it waits; `closeknit explain` has the
    details and what would help. A workload can also be given by the name of its job. For an object that is being
    deleted, shows what blocks the deletion.

    \b
      closeknit describe job train
      closeknit describe workload train
      closeknit describe node b01-r01-n01
    """
    asked = objects_named(what)
    if any(not one.name for one in asked):
        raise refuse("is missing", f"write KIND NAME; `{hint('get', asked[0].kind.plural)}` lists names", what="NAME")
    chosen = target_of(**target)
    place = namespace or chosen.config.namespace

    async def describe(client: Client) -> int:
        missing: list[Refused] = []
        for number, one in enumerate(asked):
            try:
                lines = await _described(client, one.kind, place if one.kind.namespaced else "", one.name)
            except NotFound as refused:
                missing.append(refused)
            else:
                write(["", *lines] if number > len(missing) else lines)
        return max(map(complain, missing), default=YES)

    return run(chosen, describe)


async def _described(client: Client, kind: Kind, namespace: str, name: str) -> list[str]:
    from .columns import JOBS, atlas_of, newest_by_owner

    raw = await _found(client, kind, namespace, name)
    name = raw["metadata"]["name"]
    uid = raw["metadata"].get("uid", "")
    now = time()
    workload: Raw | None = raw if kind is kinds.WORKLOAD else None
    if kind in JOBS:
        workload = newest_by_owner(await listed(client, kinds.WORKLOAD, namespace)).get(uid)
    held = await held_by(client, kind, raw) if is_going(raw) else ""
    lines = [*_head(raw, held, now)]
    if workload is not None:
        lines += _standing(workload, await atlas_of(client), is_itself=workload is raw)
        lines += [f"  {sentence(one, now)}" for one in await hits(client, [workload])]
    if kind is kinds.NODE:
        lines += await _pods_on(client, raw, now)
    for part in ("spec", "status"):
        lines += _part(raw, part)
    lines += _conditions(raw, now)
    query = {"fieldSelector": f"involvedObject.uid={uid}"}
    found = await client.list(kinds.EVENT, namespace, **query)
    if workload is not None and workload is not raw:
        query = {"fieldSelector": f"involvedObject.uid={workload['metadata'].get('uid', '')}"}
        found += await client.list(kinds.EVENT, namespace, **query)
    return lines + list(_events(found, now))


async def _found(client: Client, kind: Kind, namespace: str, name: str) -> Raw:
    """The object; if no workload has this name, the newest workload of the job with this name."""
    try:
        return await client.get(kind, namespace, name)
    except NotFound:
        if kind is not kinds.WORKLOAD:
            raise
        found = newest_of(await listed(client, kind, namespace), name)
        if found is None:
            raise
    owner = owner_named(found, name)
    assert owner is not None
    click.echo(f"note: {found['metadata']['name']} is the workload of {owner['kind']} {name}", err=True)
    return found


def _head(raw: Raw, held: str, now: float) -> Iterator[str]:
    meta = raw["metadata"]
    yield f"{raw['kind']} {meta.get('namespace', '')}{'/' if meta.get('namespace') else ''}{meta['name']}"
    yield f"  created:      {age(meta.get('creationTimestamp'), now)} ago"
    if meta.get("deletionTimestamp"):
        yield f"  terminating:  for {age(meta['deletionTimestamp'], now)}, blocked by {held}"
    for owner in meta.get("ownerReferences") or ():
        yield f"  owner:        {owner.get('kind')} {owner.get('name')}"
    for title in ("labels", "annotations"):
        pairs = [(key, value) for key, value in (meta.get(title) or {}).items() if key not in _NO_NOTES]
        if pairs:
            yield f"  {title}:"
            yield from (f"    {key}={value}" for key, value in pairs)


def _standing(workload: Raw, atlas: Atlas, is_itself: bool) -> Iterator[str]:
    """The workload's placement, or why it waits."""
    spec = workload.get("spec") or {}
    admission = (workload.get("status") or {}).get("admission") or {}
    yield "placement:" if is_itself else f"workload {workload['metadata']['name']}:"
    line = spec.get("queueName") or "(none)"
    queue = f" of ClusterQueue {admission['clusterQueue']}" if admission.get("clusterQueue") else ""
    yield f"  {state_of(workload)} in LocalQueue {line}{queue}, priority {spec.get('priority', 0)}"
    reason, message = reason_of(workload)
    if reason:
        yield f"  waits for: {reason}" + (f": {message}" if message != reason else "")
        name = f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"
        yield f"  what would help: {hint('explain', name)}"
    for group in groups_of(workload, atlas):
        flavors = f" of {', '.join(group.flavors)}" if group.flavors else ""
        level = f", all in one {group.level}" if group.level and len(group.pods) > 1 else ""
        yield f"  {group.name}: {number_of(group.number, 'pod')}{flavors}{level}"
        if group.pods:
            yield from branches(group.pods, "    ")


async def _pods_on(client: Client, node: Raw, now: float) -> list[str]:
    """The pods on a node; if the node is not ready, also what happens to their workloads."""
    name = node["metadata"]["name"]
    pods = await client.list(kinds.POD, fieldSelector=f"spec.nodeName={name}")
    found = [] if holds(node, "Ready") else await hits_of(client, {name}, pods)
    rows = [
        (one["metadata"]["namespace"], one["metadata"]["name"], (one.get("status") or {}).get("phase", ""))
        for one in pods
    ]
    lost = [f"  {one.key}: {sentence(one, now)}" for one in found]
    listed_pods = [f"pods ({len(rows)}):", *table(("Namespace", "Name", "Phase"), rows, "  ")]
    return [*(["affected workloads:"] if lost else []), *lost, *listed_pods]


def _part(raw: Raw, part: str) -> Iterator[str]:
    value = raw.get(part)
    if isinstance(value, dict):
        value = {key: inner for key, inner in value.items() if key != "conditions"}
    if value:
        yield f"{part}:"
        yield from yaml_lines(value, "  ")


def _conditions(raw: Raw, now: float) -> Iterable[str]:
    rows = [
        (
            one.get("type"),
            one.get("status"),
            one.get("reason"),
            age(one.get("lastTransitionTime"), now),
            one.get("message"),
        )
        for one in (raw.get("status") or {}).get("conditions") or ()
    ]
    return ["conditions:", *table(("Type", "Status", "Reason", "Since", "Message"), rows, "  ")] if rows else []


def _events(events: Sequence[Raw], now: float) -> Iterator[str]:
    """The latest events, the newest last."""
    ordered = sorted(events, key=_when)[-MOST_EVENTS:]
    rows = [
        (age(_when(one), now), one.get("type"), one.get("reason"), _times(one), one.get("message")) for one in ordered
    ]
    yield "events:" if rows else "events: none"
    yield from table(("Age", "Type", "Reason", "Times", "Message"), rows, "  ")


def _when(event: Raw) -> str:
    series = (event.get("series") or {}).get("lastObservedTime")
    found: str = series or event.get("lastTimestamp") or event.get("eventTime") or ""
    return found or event["metadata"].get("creationTimestamp") or ""


def _times(event: Raw) -> int:
    return int((event.get("series") or {}).get("count") or event.get("count") or 1)
