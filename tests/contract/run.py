"""The contract suite on a server that is started for it: `python -m contract.run real embedded`.

`real` is kube-apiserver with etcd and kube-controller-manager, `embedded` is `closeknit up` on an empty folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from host.process import HostProcess
from servers.cluster import RealCluster

from .conftest import VARIABLE

SUITE = Path(__file__).parent
NODE = """
apiVersion: v1
kind: Node
metadata: {name: idle, labels: {kubernetes.io/hostname: idle}}
spec: {taints: [{key: idle, effect: NoSchedule}]}
status: {allocatable: {cpu: "1", pods: "1"}, conditions: [{type: Ready, status: "True"}]}
"""


@contextmanager
def real() -> Iterator[Path]:
    with RealCluster(["kube-controller-manager"]) as cluster:
        yield cluster.kubeconfig


@contextmanager
def embedded() -> Iterator[Path]:
    """With one node that takes nothing: those that tests make belong to them alone."""
    with tempfile.TemporaryDirectory() as folder:
        data, nodes = Path(folder) / "host", Path(folder) / "nodes.yaml"
        nodes.write_text(NODE)
        with HostProcess(data, "--port", "0", "--nodes", str(nodes)):
            yield data / "kubeconfig"


SERVERS = {"real": real, "embedded": embedded}


def main() -> int:
    names = sys.argv[1:] or list(SERVERS)
    unknown = [name for name in names if name not in SERVERS]
    if unknown:
        print(f"no server {', '.join(unknown)}; use: {', '.join(SERVERS)}", file=sys.stderr)
        return 2
    code = 0
    with ThreadPoolExecutor(len(names)) as side_by_side:
        for name, ended in zip(names, side_by_side.map(told, names), strict=True):
            print(f"== contract: {name} ==\n{ended.stdout}", end="", flush=True)
            code |= ended.returncode
    return code


def told(name: str) -> subprocess.CompletedProcess[str]:
    """The suite's end on a server of its own, and what it said."""
    with SERVERS[name]() as kubeconfig:
        command = [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", str(SUITE)]
        environment = {**os.environ, VARIABLE: str(kubeconfig)}
        return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


if __name__ == "__main__":
    sys.exit(main())
