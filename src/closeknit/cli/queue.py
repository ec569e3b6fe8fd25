"""`closeknit queue`: quota, borrowing and shares of a cluster that was written down."""

from __future__ import annotations

from typing import Any

import click

from ..report.quota import Ledger, as_data, tree
from .cluster import check_stdin, cluster_options, load, tell
from .output import OUTPUT, emit, write


@click.command()
@cluster_options
@OUTPUT
def command(output: str | None, **cluster: Any) -> None:
    """Quota, borrowing and shares of a cluster's queues.

    Cohorts and the ClusterQueues in them as a tree, with a line for every flavor and resource: `▒` is what a queue
    uses of its own quota, `█` what it has borrowed, `░` what is free. Lent is quota that its owner has not used and
    could not use now, because others do. A share is what a queue has borrowed of what its cohort could lend, in
    thousandths, divided by its weight. -o wide shows LocalQueues too.

    \b
      closeknit queue --cluster cluster.yaml
      closeknit queue --cluster cluster.yaml -o json

    `closeknit what-if --help` has the line that writes a cluster down.
    """
    check_stdin(cluster["cluster"], config=cluster["config"])
    loaded, _ = load(**cluster)
    state = loaded.state
    tell(state)
    for one in state.workloads.values():
        state.scheduler.put(one, loaded.newest or 0.0)
    ledger = Ledger.of(state.scheduler, state.workloads.values())
    if output in ("json", "yaml"):
        emit(as_data(ledger), output)
    else:
        write(tree(ledger, wide=output == "wide"))
