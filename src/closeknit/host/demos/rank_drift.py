"""Why a plan is not enough: a replacement pod whose rank belongs where another pod runs already.

    plan at admission    rank 0 → x1   rank 1 → x2
    x1 fails, x3 replaces it: the hosts are now x2 and x3, and by rank that means
    plan now             rank 0 → x2   rank 1 → x3
    what runs                          rank 1 on x2

By rank the new pod 0 would be sent to x2, where rank 1 already runs. So ranks are ignored for this pod set, and the new
pod gets the host that is really free.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...cluster.embedded.store import Store
from ...cluster.port import Raw
from ...model.topology import HOSTNAME
from ...observe.pool_form import RACK
from .demo import Act, Demo, DemoStep
from .objects import cluster_queue, flavor, host, job, local_queue, topology
from .room import failed, free_gpus, hall
from .steps import cancel, fail, repair, submitted
from .views import hosts_of, how_it_stands, is_whole, plan_of

JOB, GPUS = "pair", 8


def _objects() -> Iterable[Raw]:
    for name in ("x1", "x2", "x3"):
        yield host(name, {RACK: "x"})
    yield topology((RACK, HOSTNAME))
    yield flavor()
    yield cluster_queue("training", 3 * GPUS)
    yield local_queue("training", "training")


def _hosts(store: Store, _round: int) -> Act:
    return Act(f"{hall(store)}. A pod with a rank is sent to the host that the plan assigns to its rank.")


def _start(store: Store, _round: int) -> Act:
    text = "Submitting pair: two pods with ranks 0 and 1 in one rack, each of which fills a host."
    return submitted(store, job(JOB, "training", 2, required=RACK), text)


def _planned(store: Store, _round: int) -> Act:
    return Act(_side_by_side(store))


def _fails(store: Store, _round: int) -> Act:
    node = hosts_of(store, JOB).get(0)
    if node is None or node in failed(store):
        return Act(how_it_stands(store, JOB))
    spare = [host for host, gpus in free_gpus(store).items() if gpus == GPUS]
    text = f"Failing host {node}, which runs rank 0. It counts as lost after missing heartbeats"
    return Act(f"{text}; {spare[0]} is free." if spare else f"{text}.", fail([node]))


def _drifted(store: Store, _round: int) -> Act:
    """Show that the plan and the running pods no longer agree; both are read from the cluster."""
    plan, running = plan_of(store, JOB), hosts_of(store, JOB)
    if len(plan) < 2 or running.get(1) != plan[0]:
        return Act(_side_by_side(store))
    text = f"The plan is now: {_ranks(plan)}. By rank the new pod 0 would go to {plan[0]}, where rank 1 already runs."
    return Act(text)


def _settled(store: Store, _round: int) -> Act:
    plan, running = plan_of(store, JOB), hosts_of(store, JOB)
    if not is_whole(store, JOB, 2) or len(set(running.values())) < 2 or running[0] == plan[0]:
        return Act(_side_by_side(store))
    text = f"The new pod 0 got the host that is really free: {_running(store)}. No two pods share a host."
    return Act(text)


def _repairs(store: Store, _round: int) -> Act:
    broken = sorted(failed(store))
    return Act(f"Repairing {', '.join(broken)}." if broken else _side_by_side(store), repair(store))


def _stays(store: Store, _round: int) -> Act:
    free = sorted(host for host, gpus in free_gpus(store).items() if gpus == GPUS)
    if not is_whole(store, JOB, 2) or len(free) != 1:
        return Act(_side_by_side(store))
    return Act(f"{free[0]} is free again, and pair stays where it is: {_running(store)}. Running pods are not moved.")


def _clear(store: Store, _round: int) -> Act:
    return Act("pair is being cancelled. The demo starts again.", cancel(store, [JOB]))


def _side_by_side(store: Store) -> str:
    return f"The plan: {_ranks(plan_of(store, JOB))}. Running: {_running(store)}."


def _ranks(hosts: Iterable[str]) -> str:
    return ", ".join(f"rank {rank} → {host}" for rank, host in enumerate(hosts)) or "none"


def _running(store: Store) -> str:
    return ", ".join(f"rank {rank} on {host}" for rank, host in hosts_of(store, JOB).items()) or "nothing"


DEMO = Demo(
    "rank-drift",
    "a replacement pod goes where a place is free, not where its rank in the plan says",
    _objects,
    (
        DemoStep(1.0, _hosts),
        DemoStep(4.0, _start),
        DemoStep(4.0, _planned),
        DemoStep(6.0, _fails),
        DemoStep(11.0, _drifted),
        DemoStep(7.0, _settled),
        DemoStep(8.0, _repairs),
        DemoStep(2.0, _stays),
        DemoStep(6.0, _clear),
    ),
    again=4.0,
)
