"""A busy data centre: 640 hosts, three teams with quota of their own, and a stream of jobs of all sizes.

    cohort gpu    research 2560 GPUs   product 1536   batch 1024     5 blocks of 16 racks with 8 hosts of 8 GPUs

The teams take turns being idle, so that the others borrow their quota; then the idle team returns and reclaims it.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from ...cluster.embedded.store import Store
from ...cluster.kinds import WORKLOAD
from ...cluster.port import Raw
from ...observe.pool_form import BLOCK, RACK
from .demo import Act, Demo, DemoStep
from .objects import NAMESPACE, cluster_queue, flavor, hosts, job, kueue, local_queue, topology
from .room import holds
from .steps import submitted

QUOTAS = {"research": 2560, "product": 1536, "batch": 1024}
COHORT = "gpu"
PHASE = 40
"""Rounds for which one team is idle, or none."""
QUIET = ("product", "", "research", "")
MOST_WAITING = 3
"""A team with this many pending jobs submits no more."""


class Recipe(NamedTuple):
    queue: str
    name: str
    pods: int
    gpus: int
    required: str
    preferred: str
    seconds: int

    @property
    def wish(self) -> str:
        level = (self.required or self.preferred).rpartition("-")[2]
        return f"all in one {level}" if self.required else f"in one {level} if possible"


RECIPES = (
    Recipe("research", "pretrain", 96, 8, BLOCK, "", 80),
    Recipe("research", "ablation", 8, 8, RACK, "", 40),
    Recipe("research", "finetune", 32, 8, BLOCK, "", 50),
    Recipe("product", "release", 64, 8, BLOCK, "", 60),
    Recipe("product", "regression", 16, 4, "", RACK, 30),
    Recipe("product", "distill", 24, 8, "", BLOCK, 50),
    Recipe("batch", "embed", 48, 8, "", BLOCK, 45),
    Recipe("batch", "notebook", 4, 2, "", RACK, 60),
    Recipe("batch", "sweep", 72, 8, "", BLOCK, 70),
)


def _objects() -> Iterable[Raw]:
    yield from hosts(5, 16, 8)
    yield topology()
    yield flavor()
    yield kueue("Cohort", COHORT, {})
    takes_back = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    for name, gpus in QUOTAS.items():
        yield cluster_queue(name, gpus, cohortName=COHORT, preemption=takes_back)
        yield local_queue(name, name)


def _next(store: Store, number: int) -> Act:
    quiet = QUIET[number // PHASE % len(QUIET)]
    waiting = _waiting(store)
    busy = [one for one in RECIPES if one.queue != quiet and waiting.get(one.queue, 0) < MOST_WAITING]
    if not busy:
        teams = "Every team" if not quiet else f"Every team but {quiet}, which is idle for a while,"
        return Act(f"{teams} has {MOST_WAITING} or more pending jobs. No new ones are submitted for now.")
    luck = Random(number)
    recipe = luck.choice(busy)
    name = f"{recipe.name}-{number}"
    text = f"{recipe.queue} submits {name}: {recipe.pods} pods with {recipe.gpus} GPUs each, {recipe.wish}."
    if quiet:
        text += f" {quiet} is idle for a while: others may borrow its unused quota."
    return submitted(store, _job(name, recipe, luck.uniform(0.7, 1.3)), text)


def _job(name: str, one: Recipe, longer: float) -> Raw:
    runs = f"{one.seconds * longer:.0f}s"
    made = job(name, one.queue, one.pods, gpus=one.gpus, required=one.required, preferred=one.preferred, runs=runs)
    return {**made, "spec": {**made["spec"], "ttlSecondsAfterFinished": 10}}


def _waiting(store: Store) -> dict[str, int]:
    """The number of pending workloads by queue."""
    count: dict[str, int] = {}
    for one in store.all(WORKLOAD, NAMESPACE):
        if not holds(one, "QuotaReserved") and not holds(one, "Finished"):
            queue = one["spec"].get("queueName", "")
            count[queue] = count.get(queue, 0) + 1
    return count


DEMO = Demo(
    "gpu-block",
    "640 hosts, three teams that lend each other quota, and a stream of jobs",
    _objects,
    (DemoStep(1.0, _next),),
    again=1.5,
)
