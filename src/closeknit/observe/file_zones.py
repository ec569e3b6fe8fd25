"""The NUMA zones of nodes from files, on columns that no mirror keeps: for questions about nodes without queues.

Files are one moment of a cluster. So a report is taken as accounting for the pods beside it, unless its fingerprint
is that of the pods that had come by some earlier moment: then the others are charged.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..model.node import Node
from ..model.numa import NodeZones
from ..model.numa_settings import NumaSettings
from ..state.columns import NodeColumns
from ..state.numa.pod_sets import LONGEST
from ..state.numa.zone_plans import KubeletPod, ZonePlans
from ..state.numa.zone_states import ZoneStates
from ..state.table import NodeTable


def put_zones(
    columns: NodeColumns,
    reports: Mapping[str, NodeZones],
    pods: Mapping[str, tuple[str, KubeletPod]],
    settings: NumaSettings,
) -> ZonePlans | None:
    """Let the zones of these nodes count; `pods` are those on them. None if no node of the columns has a report."""
    rows = {name: row for row, name in enumerate(columns.table.names) if name in reports}
    if not rows:
        return None
    plans = ZonePlans(settings)
    plans.now = LONGEST + max((needs.since or 0.0 for _, needs in pods.values()), default=0.0)
    for name, row in rows.items():
        plans.put_report(reports[name], node_at(columns.table, row))
    for key, (node, needs) in sorted(pods.items(), key=lambda one: in_order_of_arrival(one[1][1])):
        plans.put_pod(key, node, of_the_past(needs, plans.now), "")
    columns.zones = ZoneStates(plans.admissions, plans.demand_of, len(columns), plans.unknown_on)
    for name, row in rows.items():
        columns.put_zones(row, plans.on(name))
    return plans


def in_order_of_arrival(needs: KubeletPod | None) -> float:
    """A key to sort pods by: the order in which a node got them, as far as it is known."""
    return (needs.since or 0.0) if needs is not None else 0.0


def of_the_past(needs: KubeletPod, now: float) -> KubeletPod:
    """A pod of which nothing tells when it was accepted was there long before."""
    return needs if needs.since is not None else needs._replace(since=now - LONGEST)


def node_at(table: NodeTable, row: int) -> Node:
    """The node of a row, with what rules select it by."""
    return Node(table.names[row], dict(table.label_values(row)), {})
