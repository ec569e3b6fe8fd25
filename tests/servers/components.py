"""How each server is started: its command line, its ports, and its readiness endpoint.

Each function takes ports from the system, notes in `Home` what others need to know, and returns the recipe.
Flags that the test gives come last.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .build import binary
from .credentials import kubeconfig_text
from .process import HOST, Process, Recipe, free_ports

ETCD, API_SERVER = "etcd", "kube-apiserver"
CONTROLLER_MANAGER, SCHEDULER, KWOK = "kube-controller-manager", "kube-scheduler", "kwok"
STAGES = Path(__file__).parent / "stages"
MANAGED = ("type", "kwok")
"""The label of nodes that KWOK manages."""


@dataclass
class Home:
    """The folder of one cluster, the test's options, and the addresses of running servers."""

    folder: Path
    token: str
    flags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    fsync: bool = False
    etcd: str = ""
    url: str = ""

    @property
    def certificate(self) -> Path:
        return self.folder / "certificates" / "apiserver.crt"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def audit_log(self) -> Path:
        return self.logs / "audit.jsonl"

    def command(self, name: str, *flags: str) -> list[str]:
        return [str(binary(name)), *flags, *self.flags.get(name, ())]

    def process(self, name: str, recipe: Recipe) -> Process:
        return Process(recipe, self.logs / f"{name}.log")


def etcd(home: Home) -> Recipe:
    client, peer = (f"http://{HOST}:{port}" for port in free_ports(2))
    home.etcd = client
    command = home.command(
        ETCD,
        f"--data-dir={home.folder / 'etcd' / peer.rpartition(':')[2]}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--log-level=error",
        *([] if home.fsync else ["--unsafe-no-fsync"]),
    )
    return Recipe(command, f"{client}/health")


def api_server(home: Home) -> Recipe:
    """The API server, with a default toleration of lost nodes of 3 s instead of five minutes."""
    (port,) = free_ports(1)
    home.url = f"https://{HOST}:{port}"
    command = home.command(
        API_SERVER,
        f"--etcd-servers={home.etcd}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",
        f"--secure-port={port}",
        "--endpoint-reconciler-type=none",
        f"--cert-dir={home.certificate.parent}",
        "--service-account-issuer=https://closeknit.test",
        f"--service-account-key-file={home.folder / 'account.pub'}",
        f"--service-account-signing-key-file={home.folder / 'account.key'}",
        f"--token-auth-file={home.folder / 'tokens.csv'}",
        "--authorization-mode=Node,RBAC",
        "--service-cluster-ip-range=10.96.0.0/24",
        "--disable-admission-plugins=ServiceAccount",
        "--default-not-ready-toleration-seconds=3",
        "--default-unreachable-toleration-seconds=3",
    )
    return Recipe(command, f"{home.url}/readyz", home.certificate)


def write_kubeconfig(home: Home) -> None:
    """Write the administrator's kubeconfig; possible as soon as the API server has created its certificate."""
    home.kubeconfig.write_text(kubeconfig_text(home.url, home.token, home.certificate))


def controller_manager(home: Home) -> Recipe:
    """A lost node is NotReady after ten seconds."""
    (port,) = free_ports(1)
    certificates = home.folder / CONTROLLER_MANAGER
    command = home.command(
        CONTROLLER_MANAGER,
        f"--kubeconfig={home.kubeconfig}",
        f"--service-account-private-key-file={home.folder / 'account.key'}",
        f"--root-ca-file={home.certificate}",
        "--leader-elect=false",
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        f"--cert-dir={certificates}",
        "--node-monitor-period=1s",
        "--node-monitor-grace-period=10s",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    )
    return Recipe(command, f"https://{HOST}:{port}/healthz", certificates / f"{CONTROLLER_MANAGER}.crt")


def scheduler(home: Home) -> Recipe:
    (port,) = free_ports(1)
    certificates = home.folder / SCHEDULER
    config = home.folder / f"{SCHEDULER}.json"
    content = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(home.kubeconfig), "qps": 500, "burst": 1000},
        "leaderElection": {"leaderElect": False},
    }
    config.write_text(json.dumps(content))
    command = home.command(
        SCHEDULER, f"--config={config}", f"--bind-address={HOST}", f"--secure-port={port}", f"--cert-dir={certificates}"
    )
    return Recipe(command, f"https://{HOST}:{port}/healthz", certificates / f"{SCHEDULER}.crt")


def kwok(home: Home) -> Recipe:
    files = write_stages(home.folder / "stages")
    recipe = kwok_command(home.kubeconfig, MANAGED, files)
    return recipe._replace(command=[*recipe.command, *home.flags.get(KWOK, ())])


def kwok_command(kubeconfig: Path, label: tuple[str, str], stages: Iterable[Path]) -> Recipe:
    """KWOK for the nodes with this label.

    Leases of 12 s are renewed every 3 s, often enough for the grace period above. With a thousand nodes that is much to
    write: longer leases, and a longer grace period, are flags away.
    """
    (port,) = free_ports(1)
    command = [
        str(binary(KWOK)),
        f"--kubeconfig={kubeconfig}",
        "--manage-all-nodes=false",
        f"--manage-nodes-with-label-selector={'='.join(label)}",
        "--node-lease-duration-seconds=12",
        f"--server-address={HOST}:{port}",
        "--v=WARN",
        *(f"--config={file}" for file in stages),
    ]
    return Recipe(command, f"http://{HOST}:{port}/healthz")


def write_stages(folder: Path) -> list[Path]:
    """The stage files with the plan of a pod in its place."""
    folder.mkdir(exist_ok=True)
    lines = (STAGES / "plan.jq").read_text().splitlines()
    plan = " ".join(line.strip() for line in lines if not line.startswith("#"))
    files = []
    for source in sorted(STAGES.glob("*.yaml")):
        file = folder / source.name
        file.write_text(source.read_text().replace("'PLAN | ", f"'({plan}) | "))
        files.append(file)
    return files


RECIPES: dict[str, Callable[[Home], Recipe]] = {
    ETCD: etcd,
    API_SERVER: api_server,
    CONTROLLER_MANAGER: controller_manager,
    SCHEDULER: scheduler,
    KWOK: kwok,
}
