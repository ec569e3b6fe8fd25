"""One cycle: all heads are nominated on the same view of the world, then each in turn takes what is still free.

    heads ─▶ nominate ─▶ order ─▶ re-check ─▶ admit │ preempt │ wait
             each on the           against what this
             same world            cycle already took

Later turns see what earlier ones took: quota and places of workloads that were admitted, that wait for their victims,
or that could not be admitted but must not be overtaken. At the end all of it is rolled back, and what was admitted goes
into the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..model.cluster_queue import ClusterQueue
from ..model.quota import FlavorResource, Usage, minus, plus
from ..model.workload import Workload
from ..queue.pending_workload import FlavorProgress, PendingWorkload
from ..queue.wake import RequeueReason
from ..state.ledger import Holding
from ..state.mirror import Usage as Place
from .decision import Admit, Decision, Evict, Preempt, Replace, Retry, Wait
from .entry import Entry, Fate
from .namespaces import mismatch
from .nominate import Replan, nominate, old_slice, planned
from .ordering import in_order
from .plan import Mode, Plan
from .recheck import RecheckVerdict, recheck
from .topology import added_places
from .victims import Borrowers, Victim
from .world import World

NO_LONGER_FITS = "Workload no longer fits after processing another workload"
OVERLAPS = "Workload has overlapping preemption targets with another workload"
AFTER_VICTIMS = "Workload will fit after the preemptions of other workloads complete"
WILL_FIT = OVERLAPS + ", but will fit after these preemptions complete"
GATED = "Workload requires preemption, but it's gated"
WAITING_FOR_QUOTA = "WaitingForQuota"
WAITING_FOR_PODS = "WaitingForPodsReady"
NOT_ALL_READY = "waiting for all admitted workloads to be in PodsReady condition"
WAITING_FOR_VICTIMS = "WaitingForPreemptedWorkloads"
NO_PLACE = "TopologyPlacementFailed"


@dataclass(slots=True)
class CycleResult:
    """All entries of a cycle, and its decisions in order."""

    entries: list[Entry] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)


def run(
    world: World,
    heads: list[PendingWorkload],
    number: int,
    is_preemptor: Callable[[Entry], bool],
    claims: Iterable[str] = (),
) -> CycleResult:
    """Decide about these heads; the world is left unchanged."""
    turns = _Turns(world, number)
    entries = [_nominated(world, head, number) for head in heads]
    mark = world.checkpoint()
    try:
        with_plans = [one for one in entries if one.nomination is not None]
        for entry in in_order(world, with_plans, is_preemptor, claims):
            turns.take(entry)
    finally:
        world.rollback(mark)
    return CycleResult(entries, turns.decisions)


def _nominated(world: World, head: PendingWorkload, number: int) -> Entry:
    entry = Entry(head)
    if not head.workload.reserved and head.key in world.ledger:
        entry.fate = Fate.DROPPED
        return entry
    found = mismatch(world, head)
    if found is not None:
        entry.why, entry.reason, entry.message = found
        return entry
    entry.progress = head.progress
    entry.resumed = head.progress is not None and head.progress.pending
    entry.nomination = planned(world, head, number)
    entry.insists = entry.lacks_victims and _insists(world.cluster_queues[entry.queue])
    _note_progress(world, entry, number)
    return entry


def _reserves(queue: ClusterQueue) -> bool:
    """Whether a workload that cannot be admitted reserves quota: its queue could not reclaim it later."""
    return queue.preemption.reclaim != "Any"


def _insists(queue: ClusterQueue) -> bool:
    return queue.strategy == "StrictFIFO" and _reserves(queue)


def _note_progress(world: World, entry: Entry, number: int) -> None:
    """Record which flavors were tried, for the next cycle; a replan continues the search where the first plan did."""
    if entry.is_second_pass:
        return
    generation = world.ledger.generation.get(entry.queue, 0)
    progress = FlavorProgress(entry.plan.tried(), number, generation, entry.waiting.equivalence_key)
    entry.waiting.progress = progress.after(entry.progress) if "EndFlavorWalks" in world.gates else progress


class _Turns:
    """The state of a cycle: victims so far by key, decisions in order, and what is promised."""

    def __init__(self, world: World, number: int) -> None:
        self.world, self.number = world, number
        self.victims: dict[str, Holding] = {}
        self.decisions: list[Decision] = []
        self.promised: list[tuple[str, Usage, list[Place], Holding | None]] = []
        self.lasts = False
        """Whether some of it will be promised again in the next cycle."""

    def take(self, entry: Entry) -> None:
        verdict = RecheckVerdict.FITS
        deferred = False
        if entry.plan.mode is not Mode.NO_FIT:
            verdict, deferred = self._checked(entry)
        if entry.workload.status.unhealthy and not entry.plan.fits and self._fails_fast():
            self._evict(entry)
        elif entry.is_second_pass and not entry.plan.fits:
            self._retry(entry)
        elif entry.plan.mode is Mode.NO_FIT:
            why = RequeueReason.OTHER if entry.plan.waits_for_tighter else RequeueReason.NO_FIT
            self._refuse(entry, why, entry.plan.severity.reason)
        elif entry.lacks_victims:
            self._refuse(entry, RequeueReason.NO_CANDIDATES, WAITING_FOR_QUOTA)
            self._reserve(entry)
        elif deferred:
            self._promise(entry)
            self._wait(entry, RequeueReason.PENDING_PREEMPTION, WAITING_FOR_VICTIMS, WILL_FIT)
            entry.waiting.progress = None
        elif self._overlaps(entry):
            self._skip(entry, OVERLAPS)
        elif verdict is not RecheckVerdict.FITS:
            self._skip(entry, NO_LONGER_FITS)
        elif entry.victims:
            self._preempt(entry)
        elif self._fits_now(entry):
            self._admit_or_hold(entry)
        else:
            self._promise(entry)
            self._wait(entry, RequeueReason.PENDING_PREEMPTION, WAITING_FOR_VICTIMS, AFTER_VICTIMS)
            entry.waiting.progress = None

    def _admit_or_hold(self, entry: Entry) -> None:
        """Admit it, unless admission is blocked until all pods are ready; a second pass is not.

        It is promised its room meanwhile, and is next as soon as a workload changes. Kueue waits right here.
        """
        if entry.is_second_pass or not self._is_blocked():
            self._admit(entry)
            return
        self._promise(entry)
        self._wait(entry, RequeueReason.LOST_ITS_PLACE, WAITING_FOR_PODS, NOT_ALL_READY)
        entry.waiting.progress = None

    def _is_blocked(self) -> bool:
        """Whether an admitted workload, of this cycle or before, has pods that are not ready."""
        if not self.world.settings.blocks_admission:
            return False
        if any(isinstance(one, Admit) and not one.workload.admitted for one in self.decisions):
            return True
        workloads = (one.workload for one in self.world.ledger.holdings.values())
        return any(one.admitted and not one.status.holds("PodsReady") for one in workloads)

    # Re-check

    def _checked(self, entry: Entry) -> tuple[RecheckVerdict, bool]:
        """The verdict on an entry, replanned where that may help, and whether it fits once the victims are gone."""
        gates = self.world.gates
        if self._overlaps(entry) and "RecomputeAssignmentUponPreemptionTargetsOverlap" in gates:
            deferred = self._recompute_without_victims(entry)
            return recheck(self.world, entry, self.victims.values()), deferred
        verdict = recheck(self.world, entry, self.victims.values())
        if verdict is RecheckVerdict.NO_ROOM and "TASRecomputeAssignmentWithinSchedulingCycle" in gates:
            self._replan(entry, Replan(_pins(entry.plan), borrowers=self._borrowers()))
            if entry.plan.mode is not Mode.NO_FIT:
                verdict = recheck(self.world, entry, self.victims.values())
        return verdict, False

    def _replan(self, entry: Entry, again: Replan) -> None:
        assert entry.nomination is not None
        entry.outrun = entry.nomination.works and "VerifyBeforeAdmit" in self.world.gates
        entry.nomination = nominate(self.world, entry.waiting, self.number, again)
        _note_progress(self.world, entry, self.number)

    def _refuse(self, entry: Entry, why: RequeueReason, reason: str) -> None:
        """Requeue an entry that does not fit; at once if it lost to something that ends with this cycle.

        Reservations and the flavors pinned by the first plan end with the cycle. Promises end when their victims are
        gone, which is an event of its own. A StrictFIFO queue reserves again in the next cycle, so an immediate retry
        would only block the workloads behind this one.
        """
        ends = bool(self.promised) or any(len(one.attempts) > 1 for one in entry.plan.pod_sets)
        again = entry.outrun and ends and not self.lasts
        self._wait(entry, RequeueReason.LOST_ITS_PLACE if again else why, reason, entry.plan.message)

    def _fits_now(self, entry: Entry) -> bool:
        """Whether it fits right now: victims still hold their room, and promises do not count."""
        if not self.victims or "VerifyBeforeAdmit" not in self.world.gates:
            return True
        mark = self.world.checkpoint()
        self._break_promises()
        verdict = recheck(self.world, entry, ())
        self.world.rollback(mark)
        return verdict is RecheckVerdict.FITS

    def _break_promises(self) -> None:
        """Undo all promises of this cycle."""
        for queue, usage, taken, old in self.promised:
            self.world.subtract(queue, usage, taken)
            if old is not None:
                self.world.add(old.queue, old.usage)

    def _borrowers(self) -> Borrowers | None:
        """What each queue borrows by its holdings alone; None if promises count too, as in Kueue."""
        if not self.promised or "VerifyBeforeAdmit" not in self.world.gates:
            return None
        mark = self.world.checkpoint()
        self._break_promises()
        queues = self.world.tree.queues.values()
        found = {one.name: {fr for fr in one.usage if one.is_borrowing(fr)} for one in queues}
        self.world.rollback(mark)
        return found

    def _recompute_without_victims(self, entry: Entry) -> bool:
        """Replan as if the victims so far were gone; True if it then fits."""
        borrowers = self._borrowers()
        mark = self.world.checkpoint()
        for holding in self.victims.values():
            self.world.take_away(holding)
        self._replan(entry, Replan(_pins(entry.plan), frozenset(self.victims), borrowers))
        self.world.rollback(mark)
        fits = entry.plan.fits
        entry.recomputed = "deferred_fit" if fits else "new_targets" if entry.victims else "skipped"
        return fits

    def _overlaps(self, entry: Entry) -> bool:
        return any(victim.holding.key in self.victims for victim in entry.victims)

    def _fails_fast(self) -> bool:
        return "TASFailedNodeReplacementFailFast" in self.world.gates

    # Outcomes of a turn

    def _admit(self, entry: Entry) -> None:
        self._use(entry)
        entry.fate = Fate.ADMITTED
        old = old_slice(self.world, entry.waiting)
        self.decisions.append(Admit(entry.workload, entry.plan.admission(entry.queue), entry.plan))
        if old is not None:
            self.decisions.append(Replace(old.workload, entry.workload))

    def _preempt(self, entry: Entry) -> None:
        if self._is_gated(entry.workload):
            entry.gated = True
            entry.waiting.progress = None
            self._wait(entry, RequeueReason.GATED, "AdmissionGated", GATED)
            return
        for victim in entry.victims:
            self.victims[victim.holding.key] = victim.holding
            if not victim.holding.workload.evicted:
                self.decisions.append(self._order_out(victim, entry))
        self._promise(entry)
        entry.waiting.progress = None
        self._wait(entry, RequeueReason.PENDING_PREEMPTION, *self._what_leaves(entry))

    def _what_leaves(self, entry: Entry) -> tuple[str, str]:
        """The reason and the message of a workload that waits for others to leave, or only for pods that stop."""
        preempted = [victim for victim in entry.victims if victim.holding is not self.world.leaving]
        if entry.victims and not preempted:
            return NO_PLACE, f"{entry.plan.message}. Pods that are stopping have yet to leave their nodes"
        message = f"{entry.plan.message}. Pending the preemption of {len(preempted)} workload(s)"
        return WAITING_FOR_VICTIMS, message

    def _order_out(self, victim: Victim, entry: Entry) -> Preempt:
        by, holding = entry.workload, victim.holding
        message = (
            f"Preempted to accommodate a workload (UID: {by.uid or 'UNKNOWN'}, JobUID: {by.job_uid or 'UNKNOWN'}) "
            f"due to {victim.cause.words}; preemptor path: {self.world.node_of(entry.queue).path}; "
            f"preemptee path: {self.world.node_of(holding.queue).path}"
        )
        return Preempt(holding.workload, holding.queue, by, entry.queue, victim.cause, message)

    def _is_gated(self, workload: Workload) -> bool:
        if "MultiKueueOrchestratedPreemption" not in self.world.gates:
            return False
        return any(gate not in workload.status.open_gates for gate in workload.preemption_gates)

    def _evict(self, entry: Entry) -> None:
        entry.fate = Fate.EVICTED
        nodes = ",".join(entry.workload.status.unhealthy)
        text = f"Workload was evicted as there was no replacement for unhealthy node(s): {nodes}"
        self.decisions.append(Evict(entry.workload, text, entry.plan.message))

    def _retry(self, entry: Entry) -> None:
        entry.message, entry.recorded = entry.plan.message, True
        self.decisions.append(Retry(entry.workload, entry.message))

    def _skip(self, entry: Entry, message: str) -> None:
        entry.fate = Fate.SKIPPED
        entry.skipped_preemption = entry.plan.preempts
        if "FlavorFungibilityPreserveScanProgress" not in self.world.gates:
            entry.waiting.progress = None
        self._wait(entry, RequeueReason.LOST_ITS_PLACE, WAITING_FOR_QUOTA, message)

    def _wait(self, entry: Entry, why: RequeueReason, reason: str, message: str) -> None:
        entry.why, entry.reason, entry.message = why, reason, message

    # What later turns see

    def _use(self, entry: Entry) -> None:
        old = old_slice(self.world, entry.waiting)
        if old is not None:
            self.world.tree.remove(old.queue, old.usage)
        self.world.add(entry.queue, entry.usage, self._places(entry))

    def _places(self, entry: Entry) -> list[Place]:
        return added_places(self.world, entry.plan, entry.workload)

    def _promise(self, entry: Entry) -> None:
        """Promise the entry what it gets once its victims are gone; later turns count it as used."""
        self._use(entry)
        self.lasts = True
        self.promised.append((entry.queue, entry.usage, self._places(entry), old_slice(self.world, entry.waiting)))

    def _reserve(self, entry: Entry) -> None:
        if not _reserves(self.world.cluster_queues[entry.queue]):
            return
        kept = {fr: amount for fr, amount in self._reserved(entry).items() if amount > 0}
        taken = self._places(entry)
        self.world.add(entry.queue, kept, taken)
        self.promised.append((entry.queue, kept, taken, None))
        self.lasts |= entry.insists

    def _reserved(self, entry: Entry) -> dict[FlavorResource, int]:
        node = self.world.node_of(entry.queue)
        borrows = entry.plan.borrowing > 0
        kept = {}
        for fr, amount in entry.usage.items():
            limit = node.borrowing_limit(fr)
            if borrows and limit is None:
                kept[fr] = amount
                continue
            own = plus(node.nominal(fr), limit or 0) if borrows else node.nominal(fr)
            kept[fr] = max(0, min(amount, minus(own, node.usage.get(fr, 0))))
        return kept


def _pins(plan: Plan) -> dict[tuple[str, str], str]:
    return {(one.name, resource): choice.flavor for one in plan.pod_sets for resource, choice in one.flavors.items()}


def waits(entry: Entry) -> Wait:
    """The decision that an entry has to wait."""
    plan = None if entry.nomination is None else entry.plan
    victims = tuple(victim.holding.workload for victim in entry.victims)
    return Wait(entry.workload, entry.why, entry.reason, entry.message, plan, entry.gated, victims)
