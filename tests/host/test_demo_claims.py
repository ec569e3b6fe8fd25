"""Whatever users do to its cluster meanwhile, every sentence of a demo is true."""

from __future__ import annotations

import re
from random import Random

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.errors import Refused
from closeknit.host.demos import DEMOS
from closeknit.host.demos.objects import host, job
from closeknit.observe.pool_form import BLOCK, RACK
from host.claims import FAILED, NOW, THEN, check
from host.stage import Stage

LARGE = "gpu-block"
"""Takes seconds to run; `test_demos` plays it once, with a witness."""
QUEUES = {"first-steps": "default", "gpu-block": "batch"}


class Witness(Stage):
    """Checks every sentence as it is shown, and what it announced as soon as that was done."""

    def __init__(self, demo: str) -> None:
        self.announced: list[str] = []
        super().__init__(demo)
        self.demo = demo

    def hear(self, text: str) -> None:
        super().hear(text)
        known = check(self, text, NOW) or any(re.fullmatch(pattern, text) for pattern in THEN)
        assert known, f"no claim matches this sentence: {text}"
        self.announced.append(text)

    def settle(self) -> float | None:
        due = super().settle()
        for text in self.announced:
            check(self, text, THEN)
        self.announced = []
        return due

    # What users do

    def meddle(self, luck: Random) -> None:
        deeds = (self.fail, self.fail_rack, self.repair, self.cancel, self.cordon, self.crowd, self.squat, self.wake)
        try:
            luck.choice(deeds)(luck)
        except Refused:
            return

    def _node(self, luck: Random) -> str:
        names = sorted(one["metadata"]["name"] for one in self.all(kinds.NODE))
        return luck.choice(names) if names else ""

    def _mark(self, name: str, value: str | None) -> None:
        self.patch(kinds.NODE, "", name, {"metadata": {"annotations": {FAILED: value}}})

    def fail(self, luck: Random) -> None:
        self._mark(self._node(luck), "true")

    def fail_rack(self, luck: Random) -> None:
        chosen = self._node(luck).rpartition("-")[0]
        for one in self.all(kinds.NODE):
            if chosen and one["metadata"]["name"].startswith(chosen):
                self._mark(one["metadata"]["name"], "true")

    def repair(self, luck: Random) -> None:
        for one in self.all(kinds.NODE):
            self._mark(one["metadata"]["name"], None)

    def cordon(self, luck: Random) -> None:
        self.patch(kinds.NODE, "", self._node(luck), {"spec": {"unschedulable": True}})

    def cancel(self, luck: Random) -> None:
        names = sorted(one["metadata"]["name"] for one in self.all(kinds.JOB))
        if names:
            self.delete(kinds.JOB, "default", luck.choice(names))

    def crowd(self, luck: Random) -> None:
        queue = QUEUES.get(self.demo, "training")
        self.create(job(f"own-{luck.random():.6f}", queue, luck.randint(1, 6), gpus=4, preferred=RACK, runs="40s"))

    def squat(self, luck: Random) -> None:
        """Submit a job with the name of one of the demo's, but of another size."""
        name = luck.choice(("train", "tune", "llm", "vision", "sweep", "pair", "huge"))
        self.create(job(name, QUEUES.get(self.demo, "training"), 1, gpus=4, preferred=RACK))

    def wake(self, luck: Random) -> None:
        """Restart as after a laptop was closed for a while."""
        self.clock.time += luck.choice((1.0, 600.0))
        self.restart()


@pytest.mark.parametrize("name", [name for name in DEMOS if name != LARGE])
def test_every_sentence_of_a_demo_is_true_when_it_is_shown(name: str) -> None:
    stage = Witness(name)
    stage.advance(300.0 if name == "first-steps" else 130.0)
    assert len(stage.said) > 7


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", [name for name in DEMOS if name != LARGE])
def test_a_demo_stays_true_while_users_interfere(name: str, seed: int) -> None:
    luck, stage = Random(f"{name} {seed}"), Witness(name)
    for _ in range(25):
        stage.advance(luck.uniform(0.5, 9.0))
        stage.meddle(luck)
        stage.settle()
    assert len(stage.said) > 5


def test_hosts_that_a_user_created_are_not_removed() -> None:
    stage = Witness("provisioning")
    stage.create(host("own-1", {BLOCK: "own", RACK: "own"}))
    stage.until("There are ")
    stage.until("being removed")
    stage.advance(3)
    assert [one["metadata"]["name"] for one in stage.all(kinds.NODE)] == ["own-1"]
