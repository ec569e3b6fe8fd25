"""The contract suite on a server that is started for it: `python -m contract.run real embedded`.

`real` is kube-apiserver with etcd and kube-controller-manager, `embedded` is `closeknit up` on an empty folder.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from host.process import HostProcess
from servers.cluster import RealCluster
from servers.suites import main

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
def real() -> Iterator[dict[str, str]]:
    with RealCluster(["kube-controller-manager"]) as cluster:
        yield {VARIABLE: str(cluster.kubeconfig)}


@contextmanager
def embedded() -> Iterator[dict[str, str]]:
    """With one node that takes nothing: those that tests make belong to them alone."""
    with tempfile.TemporaryDirectory() as folder:
        data, nodes = Path(folder) / "host", Path(folder) / "nodes.yaml"
        nodes.write_text(NODE)
        with HostProcess(data, "--port", "0", "--nodes", str(nodes)):
            yield {VARIABLE: str(data / "kubeconfig")}


SERVERS = {"real": real, "embedded": embedded}


if __name__ == "__main__":
    sys.exit(main(SUITE, SERVERS, "-n", "2", at_once=len(SERVERS)))
