"""Between controller and server, connections are refused, delayed, cut, and left half open."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Thread
from time import monotonic, sleep

from cluster.kube.bad_proxy import BadProxy, Fate
from contract.expect import eventually
from faults.ground import Ground
from faults.scene import Scene

FATES: tuple[Fate, ...] = ("good", "good", "good", "refused", "delayed", "cut", "half-open")
MOST = 100_000
"""Bytes after which a connection is cut at the latest; some lists still have to get through."""
BAD = 10.0


def test_a_bad_network_is_survived(ground: Ground) -> None:
    with Scene(ground, 60) as scene, proxy() as bad:
        controller = scene.begin_alone(through(bad, ground.account))
        sleep(BAD)
        eventually(lambda: min(bad.met[fate] for fate in FATES) > 0)
        scene.judge.now()
        bad.repair()
        begun = monotonic()
        scene.rest()
        print(f"\n{dict(bad.met)}; at rest {monotonic() - begun:.0f} s after the network was repaired")
        assert controller.starts == 1, "it lives on"


def test_two_replicas_that_see_the_lease_only_sometimes_never_both_decide(ground: Ground) -> None:
    with Scene(ground, 70) as scene, proxy() as bad:
        scene.begin(2, through(bad, ground.account))
        sleep(BAD)
        eventually(lambda: min(bad.met[fate] for fate in FATES) > 0)
        scene.judge.now()
        bad.repair()
        begun = monotonic()
        scene.rest()
        starts = [one.starts for one in scene.replicas]
        print(f"\n{dict(bad.met)}; begun {starts} times; at rest {monotonic() - begun:.0f} s after it was repaired")


@contextmanager
def proxy() -> Iterator[BadProxy]:
    """A proxy that runs in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    bad = BadProxy(Random("network"), FATES, MOST)
    asyncio.run_coroutine_threadsafe(bad.__aenter__(), loop).result()
    try:
        yield bad
    finally:
        asyncio.run_coroutine_threadsafe(bad.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def through(bad: BadProxy, kubeconfig: Path) -> Path:
    """The same cluster and account, through the proxy."""
    config = json.loads(kubeconfig.read_text())
    config["clusters"][0]["cluster"]["proxy-url"] = bad.address
    file = kubeconfig.with_suffix(".proxied")
    file.write_text(json.dumps(config))
    return file
