"""An index of the pods of workloads, by workload, host and pod group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..dialects.kueue import keys
from ..model.pod import Pod
from ..model.topology import HOSTNAME


class PodIndex:
    """Keys are namespace/name. A pod counts for a host if it is bound to that node or selects it, until it ends."""

    def __init__(self) -> None:
        self.all: dict[str, Pod] = {}
        self._families: dict[str, dict[str, None]] = defaultdict(dict)
        self._hosts: dict[str, dict[str, None]] = defaultdict(dict)
        self._groups: dict[str, dict[str, None]] = defaultdict(dict)

    def put(self, pod: Pod) -> None:
        self.drop(pod.key)
        self.all[pod.key] = pod
        for index, key in self._places(pod):
            index[key][pod.key] = None

    def drop(self, key: str) -> Pod | None:
        pod = self.all.pop(key, None)
        if pod is not None:
            for index, place in self._places(pod):
                del index[place][key]
                if not index[place]:
                    del index[place]
        return pod

    def _places(self, pod: Pod) -> Iterator[tuple[dict[str, dict[str, None]], str]]:
        if pod.family:
            yield self._families, f"{pod.namespace}/{pod.family}"
        if not pod.ended:
            for host in {pod.node, pod.selector.get(HOSTNAME, "")} - {""}:
                yield self._hosts, host
        group = group_of(pod)
        if group:
            yield self._groups, f"{pod.namespace}/{group}"

    @property
    def groups(self) -> list[str]:
        """The keys of all pod groups."""
        return list(self._groups)

    def of_workload(self, key: str) -> list[Pod]:
        """The pods of a workload, or of all slices of an elastic one; `key` is namespace/family."""
        return [self.all[one] for one in self._families.get(key, ())]

    def at(self, *hosts: str) -> list[Pod]:
        """The pods on a node or assigned to it, by the node's name and its hostname."""
        found = dict.fromkeys(key for host in hosts for key in self._hosts.get(host, ()))
        return [self.all[key] for key in found]

    def of_group(self, key: str) -> list[Pod]:
        return [self.all[one] for one in self._groups.get(key, ())]


def group_of(pod: Pod) -> str:
    """The pod group that a pod names; "" if there is none."""
    return pod.labels.get(keys.POD_GROUP) or pod.annotations.get(keys.POD_GROUP, "")
