"""Other clients write to the same objects all the time, and an overloaded server answers 429."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep

from contract.client import Api
from contract.expect import eventually
from faults.ground import Ground
from faults.rival import Rival
from faults.scene import Scene
from real.plane import ACCOUNT
from servers.process import HOST, free_ports

UNDER_LOAD = 6.0
LEVEL = "closeknit-faults"


def test_a_rival_writer_loses_no_writes_and_causes_no_stale_decisions(ground: Ground) -> None:
    (port,) = free_ports(1)
    with Scene(ground, 40) as scene:
        scene.begin_alone(None, "--metrics-address", f"{HOST}:{port}")
        rival = Rival(ground.cluster.kubeconfig)
        rival.start()
        try:
            sleep(UNDER_LOAD)
            scene.judge.now()
            sleep(UNDER_LOAD)
        finally:
            rival.stop()
        scene.rest()
        rival.check()
        conflicts = counted(ground.cluster.api, port, "closeknit_writes_total", 'result="Conflict"')
        print(f"\n{rival.written} writes of a rival, {conflicts:.0f} of ours were too late")
        assert conflicts > 0


def test_a_server_that_asks_for_patience_gets_it(ground: Ground) -> None:
    """A priority level that admits two requests at a time and refuses the others."""
    with Scene(ground, 50, election="") as scene:
        with tight(ground):
            scene.begin()
            scene.leader()
            sleep(UNDER_LOAD)
            scene.judge.now()
            eventually(lambda: refused(ground) > 0)
            print(f"\n{refused(ground):.0f} requests were refused with 429")
        scene.rest()


def refused(ground: Ground) -> float:
    return counted_in(ground.api.get("/metrics").body, f'flow_schema="{LEVEL}"', "rejected_requests_total")


@contextmanager
def tight(ground: Ground) -> Iterator[None]:
    api = "flowcontrol.apiserver.k8s.io/v1"
    limited = {"nominalConcurrencyShares": 1, "lendablePercent": 0, "borrowingLimitPercent": 0}
    level = {"type": "Limited", "limited": {**limited, "limitResponse": {"type": "Reject"}}}
    subject = {"kind": "User", "user": {"name": ACCOUNT}}
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
    flow = {
        "priorityLevelConfiguration": {"name": LEVEL},
        "matchingPrecedence": 2,
        "rules": [{"subjects": [subject], "resourceRules": [everything]}],
    }
    made = [("PriorityLevelConfiguration", level), ("FlowSchema", flow)]
    ground.cluster.apply(
        [{"apiVersion": api, "kind": kind, "metadata": {"name": LEVEL}, "spec": spec} for kind, spec in made]
    )
    try:
        yield
    finally:
        for kind, _ in reversed(made):
            ground.cluster.kubectl("delete", kind, LEVEL)


def counted(api: Api, port: int, *words: str) -> float:
    """The sum of counts in the metrics of a controller, which accepts the administrator's token."""
    asked = urllib.request.Request(f"http://{HOST}:{port}/metrics")
    asked.add_header("Authorization", f"Bearer {api.token}")
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return counted_in(answer.read().decode(), *words)


def counted_in(text: str, *words: str) -> float:
    """The sum of all counts in lines with these words."""
    lines = [line for line in text.splitlines() if all(word in line for word in words) and not line.startswith("#")]
    return sum(float(re.split(r"\s", line)[-1]) for line in lines)
