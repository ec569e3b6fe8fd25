"""`closeknit queue`: show quota, borrowing and shares of queues, and stop and resume queues."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ..cluster import kinds
from ..model.mistake import not_there, refuse
from ..model.nearest import did_you_mean
from ..report.quota import QuotaReport, as_data, names, tree
from .cluster import check_stdin, cluster_options, load, tell
from .completion import complete_names
from .hints import hint
from .output import OUTPUT, emit, write
from .rules import Given
from .target import announce, follow, run, target_of

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..observe.cluster_cache import ClusterCache
    from .target import Target

STOP, RESUME = "stop", "resume"
READ = (
    kinds.NAMESPACE,
    kinds.TOPOLOGY,
    kinds.RESOURCE_FLAVOR,
    kinds.ADMISSION_CHECK,
    kinds.PROVISIONING_CONFIG,
    kinds.COHORT,
    kinds.CLUSTER_QUEUE,
    kinds.LOCAL_QUEUE,
    kinds.LIMIT_RANGE,
    kinds.RUNTIME_CLASS,
    kinds.WORKLOAD,
)
"""The kinds on which quota depends."""


@click.command()
@click.argument(
    "words",
    nargs=-1,
    metavar="[NAME | stop NAME | resume NAME]",
    shell_complete=complete_names(kinds.CLUSTER_QUEUE, kinds.COHORT, words=(STOP, RESUME)),
)
@click.option("-w", "--watch", is_flag=True, help="Keep running and redraw after every change; Ctrl-C stops.")
@click.option("--drain", is_flag=True, help="With stop: also evict admitted workloads.")
@cluster_options
@OUTPUT
def command(words: tuple[str, ...], watch: bool, drain: bool, output: str | None, **cluster: Any) -> None:
    """Show quota, borrowing and shares of queues; stop and resume queues.

    Shows cohorts and their ClusterQueues as a tree, with a bar for each flavor and resource: `▒` is usage within the
    queue's own quota, `▓` is borrowed, `░` is free. "Lent" is the queue's own quota that other queues use now. A share
    is what the queue has borrowed, in thousandths of what its cohort could lend, divided by its weight. -o wide adds
    LocalQueues. NAME limits the tree to one cohort or ClusterQueue.

    \b
      closeknit queue
      closeknit queue research -w
      closeknit queue --cluster cluster.yaml -o json

    A stopped queue admits no more workloads; with --drain, its admitted workloads are evicted too. NAME is a
    ClusterQueue, or NAMESPACE/NAME of a LocalQueue.

    \b
      closeknit queue stop research
      closeknit queue stop team-a/main --drain
      closeknit queue resume research

    `closeknit what-if --help` shows the command that saves a cluster to a file.
    """
    target = {name: cluster[name] for name in ("kubeconfig", "context", "data")}
    if words and words[0] in (STOP, RESUME):
        _check_words(words, bool(cluster["cluster"]), watch, output)
        _set_policy(words[1], "None" if words[0] == RESUME else "HoldAndDrain" if drain else "Hold", target)
        return
    if len(words) > 1:
        near = did_you_mean(words[0], (STOP, RESUME))
        raise refuse("must be a single queue or cohort", f"{near}give one", what="NAME")
    if drain:
        raise refuse("requires stop", f"write: {hint('queue', 'stop', 'NAME', '--drain')}", what="--drain")
    name = words[0] if words else ""
    if cluster["cluster"]:
        if watch:
            raise refuse("cannot be combined with --cluster", "omit one of the two", what="--watch")
        _of_files(name, output, cluster)
        return
    given = Given.of(*(cluster[one] for one in ("config", "fair_sharing", "feature_gates", "profile")))
    _of_running(target_of(**target), name, watch, output, given)


def _of_files(name: str, output: str | None, cluster: dict[str, Any]) -> None:
    check_stdin(cluster["cluster"], config=cluster["config"])
    loaded, _ = load(**cluster)
    state = loaded.state
    tell(state)
    _show(QuotaReport.of(state.scheduler, state.workloads.values(), hint), name, output)


def _of_running(target: Target, name: str, watch: bool, output: str | None, given: Given) -> None:
    def ledger(cache: ClusterCache) -> QuotaReport:
        return QuotaReport.of(cache.scheduler, cache.workloads.values(), hint)

    async def once(client: Client) -> None:
        from .live import known

        rules = await given.on(client)
        _show(ledger(await known(client, READ, rules.gates, rules.settings)), name, output)

    async def again(client: Client) -> None:
        from time import time

        from ..observe.cluster_cache import ClusterCache
        from .live import Watching

        def draw(knows: ClusterCache) -> list[str]:
            _check_name(ledger(knows), name)
            return list(tree(ledger(knows), output == "wide", name))

        rules = await given.on(client)
        await Watching(client, READ, ClusterCache(rules.gates, rules.settings, time), draw).run()

    if not watch:
        run(target, once)
    elif output in ("json", "yaml"):
        raise refuse("cannot be combined with -o json or -o yaml", "omit one of the two", what="--watch")
    else:
        follow(target, again)


def _show(ledger: QuotaReport, name: str, output: str | None) -> None:
    _check_name(ledger, name)
    if output in ("json", "yaml"):
        emit(as_data(ledger, name), output)
        return
    lines = list(tree(ledger, output == "wide", name))
    write(lines or ["no queues found"])
    sys.stdout.flush()


def _check_name(ledger: QuotaReport, name: str) -> None:
    known = names(ledger)
    if name and name not in known:
        remedy = did_you_mean(name, known) + (f"existing: {', '.join(known)}" if known else "the cluster has none")
        raise not_there(f'no ClusterQueue or Cohort named "{name}"', remedy, what="NAME")


# Stopping


def _check_words(words: tuple[str, ...], on_files: bool, watch: bool, output: str | None) -> None:
    if len(words) != 2:
        raise refuse(
            "is missing" if len(words) == 1 else "must be a single queue",
            f"write: {hint('queue', words[0], 'NAME')}",
            what="NAME",
        )
    for option, given in (("--cluster", on_files), ("--watch", watch), ("--output", output is not None)):
        if given:
            raise refuse(f"cannot be combined with {words[0]}", "remove it", what=option)


def _set_policy(name: str, policy: str, target: dict[str, Any]) -> None:
    namespace, slash, local = name.partition("/")
    kind = kinds.LOCAL_QUEUE if slash else kinds.CLUSTER_QUEUE
    chosen = target_of(**target)
    announce(chosen)

    async def change(client: Client) -> None:
        where = (namespace, local) if slash else ("", name)
        before = await client.get(kind, *where)
        done = {"None": "resumed", "Hold": "stopped", "HoldAndDrain": "stopped and draining"}[policy]
        if ((before.get("spec") or {}).get("stopPolicy") or "None") == policy:
            click.echo(f"{kind.kind} {name} already {done}")
            return
        await client.patch(kind, *where, {"spec": {"stopPolicy": policy}})
        click.echo(f"{kind.kind} {name} {done}")

    run(chosen, change)
