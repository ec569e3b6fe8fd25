"""Stand-ins for the components around a control plane: kubelets, the binding of pods, the controllers of the kinds.

Each reproduces one controller of a real cluster on top of the store: what users can observe is the same, the
implementation is much smaller. They share which pods are on which node, and what is free.
"""

from __future__ import annotations

from random import Random

from ..loop import Standin
from .autoscaler import Autoscaler
from .binder import Binder
from .budgets import Budgets
from .cron_job import CronJobs
from .daemon_set import DaemonSets
from .deployment import Deployments
from .garbage import GarbageCollector
from .heartbeat import Heartbeat
from .job import BatchJobs
from .kubelet import Kubelet
from .namespaces import Namespaces
from .node_lifecycle import NodeLifecycle
from .operators import operators
from .pod_gc import PodGc
from .pods_by_node import PodsByNode
from .replica_set import ReplicaSets
from .settings import DEFAULTS, StandinSettings
from .stateful_set import StatefulSets
from .taint_eviction import TaintEviction
from .volumes import VolumeBinding
from .zone_exporter import ZoneExporter


def standins(settings: StandinSettings = DEFAULTS, random: Random | None = None) -> list[Standin]:
    """All stand-ins, in the order in which they run."""
    pods_by_node, binder = PodsByNode(), Binder()
    return [
        Heartbeat(settings),
        NodeLifecycle(settings, pods_by_node),
        TaintEviction(pods_by_node),
        PodGc(settings, pods_by_node),
        binder,
        VolumeBinding(),
        Kubelet(settings, random, pods_by_node),
        ZoneExporter(pods_by_node),
        BatchJobs(settings),
        ReplicaSets(),
        Deployments(),
        StatefulSets(),
        DaemonSets(),
        CronJobs(),
        *operators(settings),
        GarbageCollector(),
        Namespaces(),
        Budgets(),
        Autoscaler(settings, binder.room, pods_by_node),
    ]
