"""Why a plan is not enough: a replacement pod whose rank belongs where another pod runs already.

    plan at admission    rank 0 → x1   rank 1 → x2
    x1 fails, x3 steps in: places are x2 and x3, and by rank that means
    plan now             rank 0 → x2   rank 1 → x3
    what runs                          rank 1 on x2

Rank by rank the new pod 0 would be sent to x2, onto the pod that runs there. So ranks are given up for this pod set,
and the new pod gets the place that is really free.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...cluster.embedded.store import Store
from ...cluster.port import Raw
from ...model.topology import HOSTNAME
from ...observe.pool_form import RACK
from .demo import Act, Demo, Step, says
from .objects import cluster_queue, flavor, host, job, local_queue, topology
from .sights import cancel, hosts_of, let_fail, plan_of, repair, submit

JOB = "pair"


def _objects() -> Iterable[Raw]:
    for name in ("x1", "x2", "x3"):
        yield host(name, {RACK: "x"})
    yield topology((RACK, HOSTNAME))
    yield flavor()
    yield cluster_queue("training", 3 * 8)
    yield local_queue("training", "training")


def _start(_store: Store, _round: int) -> Act:
    text = "pair is submitted: two pods with ranks 0 and 1, each of which fills a host of the same rack."
    return Act(text, submit(job(JOB, "training", 2, required=RACK)))


def _planned(store: Store, _round: int) -> Act:
    return Act(f"The plan of its admission: {_ranks(plan_of(store, JOB))}. What runs: {_running(store)}.")


def _fails(store: Store, _round: int) -> Act:
    node = hosts_of(store, JOB).get(0)
    if node is None:
        return Act("pair does not run yet, so nothing fails under it.")
    text = f"Host {node} fails under rank 0. Once it counts as lost, the free host takes its place in the plan."
    return Act(text, let_fail([node]))


def _drifted(store: Store, _round: int) -> Act:
    """The plan and what runs no longer agree: both are read from the cluster."""
    plan, running = plan_of(store, JOB), hosts_of(store, JOB)
    if len(plan) < 2 or running.get(1) != plan[0]:
        return Act(f"The plan is now: {_ranks(plan)}. What runs: {_running(store)}.")
    text = f"The new plan: {_ranks(plan)}. But rank 1 runs on {plan[0]}: by rank, the new pod 0 would land on it."
    return Act(text)


def _settled(store: Store, _round: int) -> Act:
    running = hosts_of(store, JOB)
    if len(set(running.values())) < 2:
        return Act(f"The new pod 0 still waits. What runs: {_running(store)}.")
    text = f"The new pod 0 got the place that is really free: {_running(store)}. No two pods share a host."
    return Act(text)


def _repaired(store: Store, _round: int) -> Act:
    text = "The failed host is repaired and free again. pair stays where it is: nothing that runs is moved."
    return Act(text, repair(store))


def _clear(store: Store, _round: int) -> Act:
    return Act("pair is cancelled. The story begins again.", cancel(store, [JOB]))


def _ranks(hosts: Iterable[str]) -> str:
    return ", ".join(f"rank {rank} → {host}" for rank, host in enumerate(hosts)) or "none"


def _running(store: Store) -> str:
    return ", ".join(f"rank {rank} on {host}" for rank, host in hosts_of(store, JOB).items()) or "nothing"


DEMO = Demo(
    "rank-drift",
    "a replacement pod against a running one: why a plan by rank gives way to what really runs",
    _objects,
    (
        Step(1.0, says("Three hosts x1, x2 and x3 in one rack. A pod with a rank is sent to the host of its rank.")),
        Step(4.0, _start),
        Step(4.0, _planned),
        Step(6.0, _fails),
        Step(11.0, _drifted),
        Step(7.0, _settled),
        Step(8.0, _repaired),
        Step(7.0, _clear),
    ),
    again=4.0,
)
