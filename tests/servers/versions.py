"""Which servers the tests may ask for, and what Go needs to know to build them.

A server is a main package of a Go module at one version. Some modules point at folders beside themselves for parts
that are also published on their own; `siblings` is the version under which those parts are had.
"""

from __future__ import annotations

from typing import NamedTuple


class Module(NamedTuple):
    """A Go module at one version, and how to link it."""

    path: str
    version: str
    siblings: str = ""
    link: tuple[str, ...] = ()


class Server(NamedTuple):
    """A program: the module that it is in and its main package."""

    name: str
    module: Module
    package: str

    @property
    def file(self) -> str:
        """Its name in the cache: etcd-3.6.8."""
        return f"{self.name}-{self.module.version.removeprefix('v')}"


KUBERNETES = Module(
    "k8s.io/kubernetes",
    "v1.36.3",
    siblings="v0.36.3",
    link=(
        "-X k8s.io/component-base/version.gitVersion=v1.36.3",
        "-X k8s.io/component-base/version.gitMajor=1",
        "-X k8s.io/component-base/version.gitMinor=36",
    ),
)
ETCD = Module("go.etcd.io/etcd/server/v3", "v3.6.8", siblings="v3.6.8")

SERVERS = {
    server.name: server
    for server in (
        Server("etcd", ETCD, ETCD.path),
        *(
            Server(name, KUBERNETES, f"{KUBERNETES.path}/cmd/{name}")
            for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
        ),
    )
}
