"""How long the pods of a large Job stay gated: real servers, our installation, our controller.

    python -m bench.ungating [--pods 1000]

Measured with a watch, from the creation of the last gated pod to the removal of the last gate. The goal is below 3 s
for 1,000 pods.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import aclosing
from pathlib import Path
from time import monotonic

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from closeknit.cluster.kinds import POD
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import read_config
from closeknit.cluster.kube.informer import Informer, Listed
from closeknit.observe.pool_form import BLOCK
from real.plane import controlled, raised
from real.scene import Scene
from real.work import job, template
from servers.cluster import USUAL

HOSTS, PODS_EACH = 32, 16
GATE = "kueue.x-k8s.io/topology"
LONGEST = 300.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.ungating", description=__doc__)
    parser.add_argument("--pods", type=int, default=1000)
    pods = parser.parse_args().pods
    with raised(components=USUAL, defined=()) as cluster, controlled(cluster) as place, Scene.begin(place) as scene:
        scene.nodes(racks=-(-pods // (HOSTS * PODS_EACH)), hosts=HOSTS, cpu=PODS_EACH)
        scene.queue(cpu=10 * pods)
        scene.submit(job("large", pods, template(1, preferred=BLOCK)))
        print(f"the controller manager creates {pods} pods …", file=sys.stderr, flush=True)
        made, first, last = asyncio.run(asyncio.wait_for(times(Path(place.kubeconfig), scene.name, pods), LONGEST))
    print(f"{pods} pods: all created after {made - first:.1f} s, the last gate removed {last - made:.2f} s after that")


async def times(kubeconfig: Path, namespace: str, pods: int) -> tuple[float, float, float]:
    """When the last pod was created, the first, and when the last gate was removed."""
    gated, freed, first, made = set[str](), set[str](), 0.0, 0.0
    async with (
        Client(read_config([kubeconfig])) as client,
        aclosing(Informer(client, POD, namespace).events()) as events,
    ):
        async for event in events:
            if isinstance(event, Listed):
                continue
            name = event.object["metadata"]["name"]
            if any(one["name"] == GATE for one in event.object["spec"].get("schedulingGates") or ()):
                first, made = first or monotonic(), made if name in gated else monotonic()
                gated.add(name)
            else:
                freed.add(name)
            if len(freed) == pods:
                return made, first, monotonic()
    raise AssertionError("the watch ended")


if __name__ == "__main__":
    main()
