"""Where to begin: two racks, a queue in the namespace `default`, and three jobs of which one has to wait.

Nothing happens but what these jobs bring about, so that there is time to look around and to submit one's own.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...cluster.embedded.store import Store
from ...cluster.port import Raw
from ...observe.pool_form import RACK
from .demo import Act, Demo, Step, says
from .objects import cluster_queue, flavor, hosts, job, local_queue, topology
from .sights import is_admitted, racks_of, submit

TRAIN, TUNE, PRETRAIN = "train", "tune", "pretrain"


def _objects() -> Iterable[Raw]:
    yield from hosts(1, 2, 4, gpus=4)
    yield topology()
    yield flavor()
    yield cluster_queue("team", 2 * 4 * 4)
    yield local_queue("default", "team")


def _train(_store: Store, _round: int) -> Act:
    text = "train is submitted: 8 pods with a GPU each, all in one rack."
    return Act(text, submit(job(TRAIN, "default", 8, gpus=1, required=RACK, runs="4m")))


def _tune(_store: Store, _round: int) -> Act:
    text = "tune is submitted: 10 pods in one rack. That of train has only 8 GPUs left, so it goes to the other."
    return Act(text, submit(job(TUNE, "default", 10, gpus=1, required=RACK, runs="7m")))


def _pretrain(_store: Store, _round: int) -> Act:
    text = (
        "pretrain is submitted: 12 pods in one rack. None has room for it, so it waits: `closeknit explain pretrain`."
    )
    return Act(text, submit(job(PRETRAIN, "default", 12, gpus=1, required=RACK, runs="5m")))


def _later(store: Store, _round: int) -> Act:
    racks = racks_of(store, PRETRAIN)
    if not is_admitted(store, PRETRAIN) or len(racks) != 1:
        return Act("pretrain still waits for a rack with 12 free GPUs.")
    return Act(f"train is done, and pretrain, which waited for a whole rack, has {racks[0]}. Submit a job of your own.")


DEMO = Demo(
    "first-steps",
    "two racks, a queue and three jobs, one of which waits; the rest is up to you",
    _objects,
    (
        Step(1.0, says("8 hosts with 4 GPUs each in two racks. Jobs with the label queue-name: default may use them.")),
        Step(2.0, _train),
        Step(3.0, _tune),
        Step(3.0, _pretrain),
        Step(245.0, _later),
    ),
)
