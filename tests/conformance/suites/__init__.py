"""The suites that can be run: each turns a case into a decision to make and the answer it expects."""

from __future__ import annotations

from collections.abc import Callable

from .case import Case, NotRun, Prepared, difference
from .cycles import one_cycle, waves
from .encoding import encoding, prefix_encoding
from .kai_allocate import allocate
from .kai_plugin import building_block
from .kai_segments import segments
from .node_failure import node_failures
from .numa import numa_filter, numa_placement, numa_score, pod_fingerprint, zone_names
from .numa_kubelet import kubelet_hints, topology_manager
from .placement import layered_replacement, placement, table_placement
from .quota import available, dominant_share, fair_preemption, preemption
from .request_builder import request_builder
from .ungater import ungating
from .upstream import pod_groups
from .volcano import hyper_nodes

SUITES: dict[str, Callable[[Case], Prepared]] = {
    "find_topology_assignments": table_placement,
    "random_placement": placement,
    "random_placement_wide": placement,
    "multi_layer_replacement": layered_replacement,
    "topology_request_builder": request_builder,
    "assignment_encoding": encoding,
    "assignment_encoding_prefix": prefix_encoding,
    "quota_available": available,
    "dominant_resource_share": dominant_share,
    "preemption": preemption,
    "preemption_hierarchical": preemption,
    "preemption_fair": fair_preemption,
    "schedule": one_cycle,
    "schedule_fair_sharing": one_cycle,
    "schedule_recompute_targets": one_cycle,
    "schedule_tas": one_cycle,
    "schedule_tas_preemption": one_cycle,
    "schedule_tas_cohorts": one_cycle,
    "random_cycle": waves,
    "random_cycle_wide": waves,
    "ungater": ungating,
    "node_failure": node_failures,
    "kai_allocate_topology": allocate,
    "kai_segments": segments,
    "kai_topology_plugin": building_block,
    "upstream_tas": pod_groups,
    "volcano_hypernode": hyper_nodes,
    "topology_manager": topology_manager,
    "kubelet_hints": kubelet_hints,
    "numa_filter": numa_filter,
    "numa_score": numa_score,
    "numa_placement": numa_placement,
    "pod_fingerprint": pod_fingerprint,
    "zone_names": zone_names,
}

__all__ = ["SUITES", "Case", "NotRun", "Prepared", "difference"]
