"""The servers that tests may use, how Go builds them, and where CRDs are.

A server is a main package of a Go module at one version. Some modules replace parts by neighbouring folders that are
also published on their own; `siblings` is the version of those parts. Some name versions of parts that no proxy serves;
`served` has the versions to use instead. Modules that only define kinds are not built. Their versions are those that
Kueue is built against.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

PROGRAMS = Path(__file__).parent / "programs"


class Module(NamedTuple):
    """A Go module at one version, and how to link it."""

    path: str
    version: str
    siblings: str = ""
    link: tuple[str, ...] = ()
    served: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """As the go command takes it."""
        return f"{self.path}@{self.version}"


class Server(NamedTuple):
    """A program: the module that it is in and its main package; or the tests of a package, as a program.

    `source` is the folder of a program of ours that uses packages of the module.
    """

    name: str
    module: Module
    package: str
    is_test: bool = False
    source: Path | None = None

    @property
    def file(self) -> str:
        """Its name in the cache: etcd-3.6.8. A program of ours is built again when its source changes."""
        name = f"{self.name}-{self.module.version.removeprefix('v')}"
        if self.source is None:
            return name
        code = b"".join(path.read_bytes() for path in sorted(self.source.glob("*.go")))
        return f"{name}-{hashlib.sha256(code).hexdigest()[:12]}"


class Definitions(NamedTuple):
    """CustomResourceDefinitions: the module that brings them, and which of its files they are."""

    module: Module
    files: str


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
KWOK = Module("sigs.k8s.io/kwok", "v0.8.0")
JOBSET = Module("sigs.k8s.io/jobset", "v0.12.0")
LWS = Module("sigs.k8s.io/lws", "v0.9.0")
HELM = Module("helm.sh/helm/v4", "v4.3.1", link=("-X helm.sh/helm/v4/internal/version.version=v4.3.1",))
KUEUE = Module("sigs.k8s.io/kueue", "v0.19.2")
VOLCANO = Module("volcano.sh/volcano", "v1.14.1", siblings="v1.14.0")
SCHEDULER_PLUGINS = Module(
    "sigs.k8s.io/scheduler-plugins",
    "v0.34.7",
    link=("-X k8s.io/component-base/version.gitVersion=v1.34.7",),
    served=(
        *(
            (f"k8s.io/{name}", "v0.34.4")
            for name in (
                "cli-runtime",
                "cluster-bootstrap",
                "code-generator",
                "cri-client",
                "csi-translation-lib",
                "dynamic-resource-allocation",
                "endpointslice",
                "externaljwt",
                "kube-aggregator",
                "kube-controller-manager",
                "kube-proxy",
                "kubectl",
                "sample-apiserver",
            )
        ),
        ("k8s.io/sample-cli-plugin", "v0.34.3"),
        ("k8s.io/sample-controller", "v0.34.3"),
    ),
)

SERVERS = {
    server.name: server
    for server in (
        Server("etcd", ETCD, ETCD.path),
        *(
            Server(name, KUBERNETES, f"{KUBERNETES.path}/cmd/{name}")
            for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
        ),
        Server("kubelet-admission", KUBERNETES, "./kubelet-admission", source=PROGRAMS / "kubelet-admission"),
        Server("topology-match", SCHEDULER_PLUGINS, "./topology-match", source=PROGRAMS / "topology-match"),
        Server("kwok", KWOK, f"{KWOK.path}/cmd/kwok"),
        Server("jobset", JOBSET, JOBSET.path),
        Server("lws", LWS, f"{LWS.path}/cmd"),
        Server("helm", HELM, f"{HELM.path}/cmd/helm"),
        Server("kueue", KUEUE, f"{KUEUE.path}/cmd/kueue"),
        *(
            Server(f"kueue-{name}", KUEUE, f"{KUEUE.path}/test/performance/scheduler/{name}")
            for name in ("minimalkueue", "runner")
        ),
    )
}

DEFINITIONS = {
    "kueue": Definitions(KUEUE, "config/components/crd/bases/*.yaml"),
    "jobset": Definitions(JOBSET, "config/components/crd/bases/*.yaml"),
    "lws": Definitions(LWS, "config/crd/bases/*.yaml"),
    "mpi-operator": Definitions(
        Module("github.com/kubeflow/mpi-operator", "v0.8.2"), "manifests/base/kubeflow.org_mpijobs.yaml"
    ),
    "training-operator": Definitions(
        Module("github.com/kubeflow/training-operator", "v1.9.3"), "manifests/base/crds/kubeflow.org_pytorchjobs.yaml"
    ),
    "trainer": Definitions(
        Module("github.com/kubeflow/trainer/v2", "v2.2.1"), "manifests/base/crds/trainer.kubeflow.org_*.yaml"
    ),
    # Clusters and jobs; services and cron jobs take seconds more.
    "kuberay": Definitions(
        Module("github.com/ray-project/kuberay/ray-operator", "v1.6.2"), "config/crd/bases/ray.io_ray[cj][lo]*.yaml"
    ),
    "appwrapper": Definitions(
        Module("github.com/project-codeflare/appwrapper", "v1.2.2"),
        "config/crd/bases/workload.codeflare.dev_appwrappers.yaml",
    ),
    "spark-operator": Definitions(
        Module("github.com/kubeflow/spark-operator/v2", "v2.5.1"),
        "config/crd/bases/sparkoperator.k8s.io_sparkapplications.yaml",
    ),
    "autoscaler": Definitions(
        Module("k8s.io/autoscaler/cluster-autoscaler/apis", "v0.0.0-20240830133931-adfbe7e45277"), "config/crd/*.yaml"
    ),
}

JOB_DEFINITIONS = tuple(name for name in DEFINITIONS if name not in ("kueue", "autoscaler"))
"""The modules that define kinds of jobs."""
