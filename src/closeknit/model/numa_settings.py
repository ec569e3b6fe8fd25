"""How NUMA zones decide, and what our configuration says about kubelets whose reports do not say it.

    numa:
      mode: strict
      nodes:
      - selector: {matchLabels: {pool: gpu}}
        cpuManager: static
        memoryManager: None
        options: {full-pcpus-only: true}
        ignoredResources: [example.com/shared]

An attribute of a node's report comes first, then the first entry of `nodes` that selects the node, then the usual
kubelet with NUMA in mind: both managers static, every option off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .cluster_queue import Selector

NumaMode = Literal["strict", "compat", "off"]
"""The kubelet's own admission; the filter of NodeResourceTopologyMatch, bit for bit; or node totals alone."""


class NumaOption:
    """Options of the kubelet's managers and one of its feature gates, by the names that the kubelet gives them."""

    CLOSEST = "prefer-closest-numa-nodes"
    MAX_ZONES = "max-allowable-numa-nodes"
    FULL_CORES = "full-pcpus-only"
    BY_SOCKET = "align-by-socket"
    DISTRIBUTE = "distribute-cpus-across-numa"
    STRICT_RESERVATION = "strict-cpu-reservation"
    POD_LEVEL = "PodLevelResourceManagers"


SWITCHES = (
    NumaOption.CLOSEST,
    NumaOption.FULL_CORES,
    NumaOption.BY_SOCKET,
    NumaOption.DISTRIBUTE,
    NumaOption.STRICT_RESERVATION,
    NumaOption.POD_LEVEL,
)
"""Options that are true or false."""


@dataclass(frozen=True, slots=True)
class NodeNuma:
    """What is configured for the kubelets of some nodes; None means that nothing is said.

    `options` are values by name, as the kubelet takes them. Resources in `ignored` belong to the whole node, whatever
    its zones list.
    """

    selector: Selector = field(default_factory=Selector)
    pins_cpus: bool | None = None
    pins_memory: bool | None = None
    options: tuple[tuple[str, str], ...] = ()
    ignored: frozenset[str] = frozenset()

    def option(self, name: str) -> str | None:
        return dict(self.options).get(name)


UNCONFIGURED = NodeNuma()


@dataclass(frozen=True, slots=True)
class NumaSettings:
    mode: NumaMode = "strict"
    nodes: tuple[NodeNuma, ...] = ()

    def of(self, labels: Mapping[str, str]) -> NodeNuma:
        """What is configured for a node with these labels: the first entry that selects it."""
        return next((one for one in self.nodes if one.selector.matches(labels)), UNCONFIGURED)
