"""The controller is killed repeatedly, at any moment, while users keep acting."""

from __future__ import annotations

import os
from random import Random
from time import monotonic, sleep

from faults.ground import Ground
from faults.scene import Scene

KILLS = int(os.environ.get("CLOSEKNIT_KILLS", "30"))
SEED = int(os.environ.get("CLOSEKNIT_SEED", "1"))
REST = 15
"""After this many kills the cluster comes to rest and is judged as a whole."""
COLD = 5
"""One kill in this many hits the standby too."""


def test_nothing_is_lost_or_doubled_however_often_the_controller_is_killed(ground: Ground) -> None:
    chance, begun = Random(f"kills {SEED}"), monotonic()
    with Scene(ground, SEED * 1000) as scene:
        scene.begin()
        scene.leader()
        for number in range(1, KILLS + 1):
            sleep(chance.uniform(0, 1.5))
            scene.leader().kill()
            if number % COLD == 0:
                for one in scene.replicas:
                    one.kill()
            scene.judge.now()
            scene.leader(other_than=scene.holder)
            if number % REST == 0 and number < KILLS:
                scene.rest()
                scene.act()
        scene.rest()
        print(
            f"\n{KILLS} kills in {monotonic() - begun:.0f} s, {scene.judge.witness.decisions} decisions judged, "
            f"users did {dict(scene.accounts.counts)}"
        )
