"""A pod as the caches of zones see it: where it runs, who put it there, and what it asks of zones."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ...model.container import Container
from ...numa.placement_vector import ContainerName
from ...numa.pod_needs import PodNeeds


@dataclass(frozen=True, slots=True)
class ZonedPod:
    """`names` are those of its containers, in the order of `needs`. `node` is empty while the pod is not bound."""

    namespace: str
    name: str
    uid: str
    needs: PodNeeds
    node: str = ""
    scheduler: str = "default-scheduler"
    phase: str = "Running"
    names: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name

    def containers(self) -> Iterator[tuple[ContainerName, Container]]:
        """Its containers with their full names."""
        for name, container in zip(self.names, self.needs.containers, strict=True):
            yield ContainerName(self.namespace, self.name, name), container

    def pinned(self, listed: Collection[str]) -> Iterator[ContainerName]:
        """The containers with resources of their own on a node whose zones list these names."""
        for name, container in self.containers():
            if container.kind != "init" and self.needs.exclusive(container, listed):
                yield name
