"""The bare form of a real cluster: etcd, kube-apiserver and, if asked, kube-controller-manager.

PYTHONPATH=tests python -m servers.control_plane --controllers
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from .build import BuildError
from .cluster import RealCluster
from .components import API_SERVER, CONTROLLER_MANAGER
from .process import StartError


@contextmanager
def control_plane(
    *, controllers: bool = False, flags: Sequence[str] = (), fsync: bool = False
) -> Iterator[RealCluster]:
    """`flags` go to kube-apiserver."""
    with RealCluster([CONTROLLER_MANAGER] * controllers, flags={API_SERVER: flags}, fsync=fsync) as cluster:
        yield cluster


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--controllers", action="store_true", help="run kube-controller-manager too")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with suppress(KeyboardInterrupt), control_plane(controllers=options.controllers) as plane:
            print(plane.kubeconfig, flush=True)
            signal.pause()
    except (BuildError, StartError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
