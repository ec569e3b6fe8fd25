"""Runs a real cluster with simulated machines for a person, until Ctrl-C: `make cluster`."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic

from closeknit.observe.pool_form import BLOCK, RACK

from .build import BuildError, binary, say
from .cluster import USUAL, RealCluster
from .components import MANAGED
from .nodes import make_nodes
from .operators import OPERATORS
from .process import StartError
from .versions import DEFINITIONS, SERVERS

GUIDE = """
  export KUBECONFIG={kubeconfig} CLOSEKNIT_KUBECONFIG={kubeconfig}
  alias kubectl={kubectl} closeknit={closeknit}

Closeknit on it; pods of its Deployment are simulated like all others, so the one that decides runs beside it:
  closeknit install
  closeknit controller --kubeconfig $KUBECONFIG &      # with the --config of the install; stop it before `uninstall`
  closeknit doctor
  kubectl get nodes -o yaml | closeknit topology suggest --nodes -     # a Topology and a ResourceFlavor for these nodes

Try:
  kubectl get nodes -L {block},{rack}
  kubectl create job hello --image=any      # its pod runs for a minute; closeknit.dev/run-time says otherwise
  kubectl get pods -o wide --watch
  kubectl label node {node} {key}-         # it falls silent: NotReady after 10 s, its pods go 3 s later
  kubectl label node {node} {key}={value}     # and is back

Logs of the servers: {logs}
Ctrl-C stops everything, and nothing is kept."""


def main() -> None:
    options = parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what is put behind `&` without it
    try:
        with suppress(KeyboardInterrupt):
            stand(options)
    except (BuildError, StartError) as error:
        sys.exit(f"error: {error}")


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m servers", description=__doc__)
    found.add_argument("--blocks", type=int, default=2, help="blocks of racks (2)")
    found.add_argument("--racks", type=int, default=2, help="racks in each block (2)")
    found.add_argument("--hosts", type=int, default=4, help="nodes in each rack (4)")
    names = ", ".join(sorted(OPERATORS))
    found.add_argument(
        "--with",
        dest="operators",
        nargs="*",
        default=[],
        choices=sorted(OPERATORS),
        metavar="OPERATOR",
        help=f"real controllers beside Kubernetes' own: {names}",
    )
    others = sorted(DEFINITIONS)
    found.add_argument(
        "--define",
        nargs="*",
        default=[],
        choices=others,
        metavar="NAME",
        help=f"kinds without their controllers: {', '.join(others)}",
    )
    return found


def stand(options: argparse.Namespace) -> None:
    begin = monotonic()
    kubectl = binary("kubectl")
    with RealCluster([*USUAL, *options.operators]) as cluster:
        cluster.define(*(name for name in options.define if name not in options.operators))
        names = make_nodes(cluster.api, blocks=options.blocks, racks=options.racks, hosts=options.hosts)
        print(headline(cluster, len(names), monotonic() - begin))
        words = {"block": BLOCK, "rack": RACK, "node": names[0], "key": MANAGED[0], "value": MANAGED[1]}
        programs = {"kubectl": kubectl, "closeknit": Path(sys.executable).with_name("closeknit")}
        where = {"kubeconfig": cluster.kubeconfig, "logs": cluster.folder / "logs"}
        print(GUIDE.format(**words, **programs, **where), flush=True)
        try:
            signal.pause()
        finally:
            say("\nstopping …")


def headline(cluster: RealCluster, nodes: int, seconds: float) -> str:
    servers = described(cluster.components)
    memory = sum(cluster.memory().values()) >> 20
    return f"A cluster stands after {seconds:.0f} s: {nodes} nodes; {servers}; {memory} MiB."


def described(components: Sequence[str]) -> str:
    return ", ".join(f"{name} {SERVERS[name].module.version}" for name in components)


if __name__ == "__main__":
    main()
