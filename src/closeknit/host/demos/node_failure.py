"""Hot swap, live: a host fails under a job and a spare one of its rack steps in; then a whole rack fails.

    b1  r1 r2 r3      two blocks of three racks with six hosts; a pod takes a whole host
    b2  r1 r2 r3

A round takes about a minute, most of it waiting until a silent host counts as lost.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...cluster.embedded.store import Store
from ...cluster.port import Raw
from ...observe.pool_form import BLOCK, RACK
from .demo import Act, Demo, Step, says
from .objects import cluster_queue, flavor, hosts, job, local_queue, topology
from .sights import cancel, hosts_of, is_admitted, label, let_fail, nodes_with, racks_of, repair, submit

LLM, VISION, SPEECH, SWEEP = "llm", "vision", "speech", "sweep"
JOBS = (LLM, VISION, SPEECH, SWEEP)
FAILING_RANK = 2


def _objects() -> Iterable[Raw]:
    yield from hosts(2, 3, 6)
    yield topology()
    yield flavor()
    yield cluster_queue("training", 2 * 3 * 6 * 8)
    yield local_queue("training", "training")


def _llm(_store: Store, _round: int) -> Act:
    return Act("llm is submitted: 5 hosts, all in one rack.", submit(job(LLM, "training", 5, required=RACK)))


def _vision(_store: Store, _round: int) -> Act:
    return Act("vision is submitted: 4 hosts, all in one rack.", submit(job(VISION, "training", 4, required=RACK)))


def _speech(_store: Store, _round: int) -> Act:
    return Act("speech is submitted: 10 hosts, all in one block.", submit(job(SPEECH, "training", 10, required=BLOCK)))


def _sweep(_store: Store, _round: int) -> Act:
    text = "sweep wants 12 hosts of one block. There is quota for it, but no block has so many free: it waits in line."
    return Act(text, submit(job(SWEEP, "training", 12, required=BLOCK)))


def _host_fails(store: Store, _round: int) -> Act:
    node = hosts_of(store, LLM).get(FAILING_RANK)
    if node is None:
        return Act("llm does not run yet, so no host fails under it.")
    text = f"Host {node} fails under pod {FAILING_RANK} of llm. Once it was silent for a while it counts as lost."
    return Act(text, let_fail([node]))


def _host_replaced(store: Store, _round: int) -> Act:
    node, racks = hosts_of(store, LLM).get(FAILING_RANK), racks_of(store, LLM)
    if node is None or len(racks) != 1:
        return Act("Pod 2 of llm still waits for another host of its rack.")
    text = f"Pod {FAILING_RANK} of llm is on {node} now, a spare host of the same rack {racks[0]}. The others ran on."
    return Act(text)


def _rack_fails(store: Store, _round: int) -> Act:
    racks = racks_of(store, VISION)
    if not racks:
        return Act("vision does not run yet, so no rack fails under it.")
    text = f"Rack {racks[0]} fails, with all hosts of vision. No host of that rack can step in."
    return Act(text, let_fail(nodes_with(store, RACK, racks[0])))


def _rack_replaced(store: Store, _round: int) -> Act:
    racks = racks_of(store, VISION)
    if len(racks) != 1:
        return Act("vision waits for a rack that holds all of it.")
    return Act(f"vision has moved as a whole: all of its pods run in rack {racks[0]} now.")


def _cancelled(store: Store, _round: int) -> Act:
    text = "Failed machines are repaired, and llm is cancelled by its owner: one block now has room for sweep."
    return Act(text, [*repair(store), *cancel(store, [LLM])])


def _sweep_runs(store: Store, _round: int) -> Act:
    blocks = sorted({label(store, node, BLOCK) for node in hosts_of(store, SWEEP).values()})
    if not is_admitted(store, SWEEP) or len(blocks) != 1:
        return Act("sweep still waits for a block.")
    return Act(f"sweep waited for 12 hosts of one block, and has them in {blocks[0]}.")


def _clear(store: Store, _round: int) -> Act:
    return Act("All jobs are cancelled. The next round begins.", [*repair(store), *cancel(store, JOBS)])


DEMO = Demo(
    "node-failure",
    "hot swap, live: a host and then a whole rack fail under running jobs, a minute a round",
    _objects,
    (
        Step(1.0, says("36 hosts with 8 GPUs each stand in two blocks of three racks. One queue may use them all.")),
        Step(2.0, _llm),
        Step(2.0, _vision),
        Step(2.0, _speech),
        Step(3.0, _sweep),
        Step(3.0, _host_fails),
        Step(12.0, _host_replaced),
        Step(3.0, _rack_fails),
        Step(12.0, _rack_replaced),
        Step(4.0, _cancelled),
        Step(4.0, _sweep_runs),
        Step(6.0, _clear),
    ),
    again=3.0,
)
