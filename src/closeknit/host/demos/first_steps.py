"""Where to start: two racks, a queue in the namespace `default`, and three jobs of which one has to wait.

Nothing else happens, so that there is time to look around and to submit a job of your own.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...cluster.embedded.store import Store
from ...cluster.port import Raw
from ...observe.pool_form import RACK
from .demo import Act, Demo, DemoStep
from .objects import cluster_queue, flavor, hosts, job, local_queue, topology
from .room import free_in, hall, most_free
from .steps import ended, submitted
from .views import has_quota, how_it_stands, is_done, is_here, is_whole, pods_of, racks_of, waits

TRAIN, TUNE, PRETRAIN = "train", "tune", "pretrain"
LOOK = 1.0
"""Seconds between two checks of the pending job."""


def _objects() -> Iterable[Raw]:
    yield from hosts(1, 2, 4, gpus=4)
    yield topology()
    yield flavor()
    yield cluster_queue("team", 2 * 4 * 4)
    yield local_queue("default", "team")


def _hosts(store: Store, _round: int) -> Act:
    return Act(f"{hall(store)}, and a queue: jobs with the label kueue.x-k8s.io/queue-name: default can use them.")


def _train(store: Store, _round: int) -> Act:
    text = "Submitting train: 8 pods with one GPU each, all in one rack."
    return submitted(store, job(TRAIN, "default", 8, gpus=1, required=RACK, runs="4m"), text)


def _tune(store: Store, _round: int) -> Act:
    text = "Submitting tune: 10 pods with one GPU each, all in one rack."
    return submitted(store, job(TUNE, "default", 10, gpus=1, required=RACK, runs="7m"), text)


def _tuned(store: Store, _round: int) -> Act:
    racks, taken = racks_of(store, TUNE), racks_of(store, TRAIN)
    if not is_whole(store, TUNE, 10) or len(racks) != 1:
        return Act(how_it_stands(store, TUNE))
    text = f"All pods of tune run in rack {racks[0]}."
    if len(taken) == 1 and taken != racks:
        left = free_in(store, taken[0])
        text += f" Rack {taken[0]}, where train runs, has {left} free GPUs." if left < 10 else ""
    return Act(text)


def _pretrain(store: Store, _round: int) -> Act:
    text = "Submitting pretrain: 12 pods with one GPU each, all in one rack."
    return submitted(store, job(PRETRAIN, "default", 12, gpus=1, required=RACK, runs="5m"), text)


def _waiting(store: Store, _round: int) -> Act:
    """Repeats while pretrain is pending: until train finishes, or a user makes room."""
    most = most_free(store, RACK, 1)
    if waits(store, PRETRAIN):
        why = f": no rack has 12 free GPUs, at most {most}" if most < 12 else ""
        return Act(f"pretrain is pending{why}. Run `closeknit explain pretrain` to see why.", again=LOOK)
    if has_quota(store, PRETRAIN) and is_here(store, PRETRAIN) and not pods_of(store, PRETRAIN):
        return Act(again=LOOK)
    return Act()


def _started(store: Store, _round: int) -> Act:
    racks = racks_of(store, PRETRAIN)
    if not is_whole(store, PRETRAIN, 12) or len(racks) != 1:
        return Act(how_it_stands(store, PRETRAIN))
    done = "train has finished, and " if is_done(store, TRAIN) else ""
    return Act(f"{done}pretrain has its rack: all 12 pods run in {racks[0]}.")


DEMO = Demo(
    "first-steps",
    "two racks, a queue and three jobs, one of which has to wait; then the cluster is yours",
    _objects,
    (
        DemoStep(1.0, _hosts),
        DemoStep(2.0, _train),
        DemoStep(3.0, _tune),
        DemoStep(2.0, _tuned),
        DemoStep(3.0, _pretrain),
        DemoStep(1.5, _waiting),
        DemoStep(3.0, _started),
        DemoStep(30.0, ended),
    ),
)
