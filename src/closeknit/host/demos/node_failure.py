"""Hot swap, live: a host fails under a job and a spare host of its rack replaces it; then a whole rack fails.

    b1  r1 r2 r3      two blocks of three racks with six hosts; a pod takes a whole host
    b2  r1 r2 r3

A round takes about a minute, most of it waiting until a silent host counts as lost.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...cluster.embedded.store import Store
from ...cluster.port import Raw
from ...observe.pool_form import BLOCK, RACK
from .demo import Act, Demo, DemoStep
from .objects import cluster_queue, flavor, hosts, job, local_queue, topology
from .room import failed, hall, label, most_free, nodes_with, quota_left
from .steps import cancel, fail, repair, submitted
from .views import domains_of, hosts_of, how_it_stands, is_whole, pods_of, racks_of, waits

QUEUE, GPUS = "training", 8
LLM, VISION, SPEECH, SWEEP = "llm", "vision", "speech", "sweep"
JOBS = (LLM, VISION, SPEECH, SWEEP)
FAILING_RANK = 2


def _objects() -> Iterable[Raw]:
    yield from hosts(2, 3, 6)
    yield topology()
    yield flavor()
    yield cluster_queue(QUEUE, 2 * 3 * 6 * GPUS)
    yield local_queue(QUEUE, QUEUE)


def _hosts(store: Store, _round: int) -> Act:
    return Act(f"{hall(store)}. Queue training has {quota_left(store, QUEUE)} GPUs of quota left.")


def _llm(store: Store, _round: int) -> Act:
    return submitted(store, job(LLM, QUEUE, 5, required=RACK), "Submitting llm: 5 hosts, all in one rack.")


def _vision(store: Store, _round: int) -> Act:
    return submitted(store, job(VISION, QUEUE, 4, required=RACK), "Submitting vision: 4 hosts, all in one rack.")


def _speech(store: Store, _round: int) -> Act:
    return submitted(store, job(SPEECH, QUEUE, 10, required=BLOCK), "Submitting speech: 10 hosts, all in one block.")


def _sweep(store: Store, _round: int) -> Act:
    return submitted(store, job(SWEEP, QUEUE, 12, required=BLOCK), "Submitting sweep: 12 hosts, all in one block.")


def _sweep_waits(store: Store, _round: int) -> Act:
    most = most_free(store, BLOCK, GPUS)
    if not waits(store, SWEEP) or most >= 12 or quota_left(store, QUEUE) < 12 * GPUS:
        return Act(how_it_stands(store, SWEEP))
    return Act(f"sweep is pending: there is quota for it, but no block has more than {most} free hosts.")


def _host_fails(store: Store, _round: int) -> Act:
    node = hosts_of(store, LLM).get(FAILING_RANK)
    if node is None or node in failed(store):
        return Act(how_it_stands(store, LLM))
    text = f"Failing host {node}, which runs pod {FAILING_RANK} of llm. It counts as lost after missing heartbeats."
    return Act(text, fail([node]))


def _host_replaced(store: Store, _round: int) -> Act:
    pods, racks = pods_of(store, LLM), racks_of(store, LLM)
    if not is_whole(store, LLM, 5) or len(racks) != 1 or not _is_newest(FAILING_RANK, pods):
        return Act(how_it_stands(store, LLM))
    node = pods[FAILING_RANK]["spec"]["nodeName"]
    return Act(f"Pod {FAILING_RANK} of llm now runs on {node}, in the same rack {racks[0]}. The others kept running.")


def _is_newest(rank: int, pods: dict[int, Raw]) -> bool:
    """Whether this pod was created after all others, which means that it was replaced."""
    made = {one: pod["metadata"]["creationTimestamp"] for one, pod in pods.items()}
    return all(made[one] < made[rank] for one in made if one != rank)


def _rack_fails(store: Store, _round: int) -> Act:
    racks = racks_of(store, VISION)
    if not is_whole(store, VISION, 4) or len(racks) != 1:
        return Act(how_it_stands(store, VISION))
    text = f"Failing the whole rack {racks[0]} with all hosts of vision: no host of that rack can replace them."
    return Act(text, fail(nodes_with(store, RACK, racks[0])))


def _rack_replaced(store: Store, _round: int) -> Act:
    racks = racks_of(store, VISION)
    if not is_whole(store, VISION, 4) or len(racks) != 1 or not _has_lost_a_rack(store):
        return Act(how_it_stands(store, VISION))
    return Act(f"vision has moved as a whole: all of its pods now run in rack {racks[0]}.")


def _has_lost_a_rack(store: Store) -> bool:
    broken = failed(store)
    return any(set(nodes_with(store, RACK, rack)) <= broken for rack in {label(store, one, RACK) for one in broken})


def _cancelled(store: Store, _round: int) -> Act:
    repairs, deletes = repair(store), cancel(store, [LLM])
    parts = ["All failed machines are being repaired"] if repairs else []
    parts += ["llm is being cancelled by its owner"] if deletes else []
    text = f"{', and '.join(parts)}: that makes room." if parts else how_it_stands(store, SWEEP)
    return Act(text, [*repairs, *deletes])


def _sweep_runs(store: Store, _round: int) -> Act:
    blocks = domains_of(store, SWEEP, BLOCK)
    if not is_whole(store, SWEEP, 12) or len(blocks) != 1:
        return Act(how_it_stands(store, SWEEP))
    return Act(f"sweep has its 12 hosts in one block, {blocks[0]}.")


def _clear(store: Store, _round: int) -> Act:
    return Act(
        "The jobs of this round are being cancelled. The next round follows.", [*repair(store), *cancel(store, JOBS)]
    )


DEMO = Demo(
    "node-failure",
    "hot swap, live: a host and then a whole rack fail under running jobs; one minute per round",
    _objects,
    (
        DemoStep(1.0, _hosts),
        DemoStep(2.0, _llm),
        DemoStep(2.0, _vision),
        DemoStep(2.0, _speech),
        DemoStep(2.0, _sweep),
        DemoStep(1.5, _sweep_waits),
        DemoStep(2.5, _host_fails),
        DemoStep(12.0, _host_replaced),
        DemoStep(3.0, _rack_fails),
        DemoStep(12.0, _rack_replaced),
        DemoStep(4.0, _cancelled),
        DemoStep(4.0, _sweep_runs),
        DemoStep(6.0, _clear),
    ),
    again=3.0,
)
