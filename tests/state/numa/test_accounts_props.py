"""Accounts of zones against a simple model of kubelet and agent: never more than there is, and exact once known."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.state.numa.accounts import ZoneAccounts

from .exporters import NODE, Machine

UNIQUE: list[str] = []
"""No name is used twice."""
REUSED = ["a", "b", "c"]

EXAMPLES = 60
Step = tuple[str, int, int]
EVENTS = ["bind", "bind", "admit", "admit", "admit", "end", "delete", "free early", "hear", "hear", "hear"]
steps = st.lists(
    st.tuples(
        st.sampled_from([*EVENTS, "write", "write", "deliver", "deliver", "wait"]),
        st.integers(0, 40),
        st.integers(0, 7),
    ),
    max_size=45,
)
methods = st.sampled_from(["all", "exclusive", "ended"])
MANY = settings(max_examples=EXAMPLES)


def play(machine: Machine, step: Step, names: list[str], known: bool = True) -> None:
    """One step; those that cannot be taken are left out."""
    kind, one, other = step
    uid = sorted(machine.stored)[one % len(machine.stored)] if machine.stored else ""
    if kind == "bind":
        cpu = 1.5 if other == 7 else 1 + other % 3
        machine.bind(names[one % len(names)] if names else f"p{machine.count}", cpu, other % 2, known or one % 3 > 0)
    elif kind == "hear":
        machine.hear(1 + one % 3)
    elif kind == "write":
        machine.write()
    elif kind == "deliver":
        machine.deliver(0)
    elif kind == "wait":
        machine.now += (1, 10, 40, 70)[other % 4]
    elif uid:
        {"admit": machine.admit, "end": machine.end, "delete": machine.delete, "free early": machine.free_early}[kind](
            uid
        )


def check(machine: Machine) -> None:
    """No zone is said to have more free than there is; a single reading is exact once everything was heard."""
    if machine.last is None:
        return
    claimed, owed = machine.claimed(), machine.owed()
    assert all(claimed[at] <= owed[at] for at in owed), (claimed, owed)


def check_exact(machine: Machine) -> None:
    found = machine.accounts.readings(NODE, machine.now)
    ended = {uid for uid, one in machine.heard.items() if one.ended}
    if machine.news or not found.is_known or machine.freed & machine.heard.keys() - ended:
        return
    if not any(each.unplaced for each in found.every):
        assert machine.claimed() == machine.owed()


@MANY
@given(steps, methods)
def test_zones_never_seem_to_have_more_than_they_have_and_a_single_reading_is_exact(
    taken: list[Step], method: str
) -> None:
    machine = reported(method)
    for step in taken:
        play(machine, step, UNIQUE)
        check(machine)
        check_exact(machine)


@MANY
@given(steps, methods, st.booleans())
def test_pods_of_unknown_zones_and_a_first_report_that_comes_late_keep_zones_safe(
    taken: list[Step], method: str, is_early: bool
) -> None:
    machine = reported(method) if is_early else Machine(ZoneAccounts(), method)
    for step in taken:
        play(machine, step, UNIQUE, known=False)
        check(machine)


@MANY
@given(steps, methods)
def test_pods_of_one_name_after_another_keep_zones_safe(taken: list[Step], method: str) -> None:
    machine = reported(method)
    for step in taken:
        play(machine, step, REUSED)
        if not machine.news:
            check(machine)


@MANY
@given(steps, methods, st.lists(st.sampled_from(["lost", "again", "other order", "wrong"]), max_size=6))
def test_reports_that_are_lost_or_come_twice_or_in_another_order_keep_zones_safe(
    taken: list[Step], method: str, faults: list[str]
) -> None:
    machine = reported(method)
    for step in taken:
        if step[0] == "deliver" and faults:
            fault = faults.pop()
            if fault == "lost":
                del machine.reports[:1]
            elif fault == "wrong":
                machine.write("pfp0v0010123456789abcdef")
                machine.deliver(-1)
            else:
                machine.deliver(step[1] if fault == "other order" else 0, is_kept=fault == "again")
        play(machine, step, UNIQUE)
        check(machine)


@MANY
@given(steps, methods, st.randoms(use_true_random=False))
def test_accounts_made_anew_from_what_is_there_are_safe_and_exact_after_the_next_report(
    taken: list[Step], method: str, order: Random
) -> None:
    machine = reported(method)
    for step in taken:
        play(machine, step, UNIQUE)
    events = [("report", None), *(("pod", one) for one in machine.heard.values())]
    order.shuffle(events)
    machine.accounts = ZoneAccounts()
    for _, one in events:
        if one is not None:
            machine.accounts.pod(one, machine.now)
        elif machine.last is not None:
            machine.accounts.report(machine.last, machine.now)
    check(machine)
    settle(machine)
    check(machine)
    assert method == "ended" or machine.claimed() == machine.owed()


@MANY
@given(steps, methods)
def test_once_everything_was_heard_and_reported_a_reading_is_known_and_exact(taken: list[Step], method: str) -> None:
    machine = reported(method)
    for step in taken:
        play(machine, step, UNIQUE, known=False)
    settle(machine)
    if method == "ended":  # whether the report still has what the ended pods had is not known
        check(machine)
        return
    assert machine.accounts.readings(NODE, machine.now).is_known
    assert machine.claimed() == machine.owed()


@MANY
@given(steps)
def test_reports_without_fingerprints_keep_zones_safe_if_they_are_not_late_and_are_exact_in_the_end(
    taken: list[Step],
) -> None:
    machine = Machine(ZoneAccounts())
    for step in taken:
        if step[0] == "wait":
            catch_up(machine)
        if step[0] == "write":
            machine.write("")
        else:
            play(machine, step, UNIQUE, known=False)
        check(machine)
    settle(machine, "")
    machine.now += 700
    assert machine.claimed() == machine.owed()


def catch_up(machine: Machine) -> None:
    """Nothing takes longer than a minute: reports arrive, and the kubelet gets to its pods."""
    while machine.reports:
        machine.deliver(0)
    for uid in sorted(machine.stored):
        machine.admit(uid)


def reported(method: str) -> Machine:
    """A machine whose agent reported it while it was empty."""
    machine = Machine(ZoneAccounts(), method)
    machine.write()
    machine.deliver(0)
    return machine


def settle(machine: Machine, fingerprint_of: str | None = None) -> None:
    """The kubelet gets to all pods, everything is heard, and the agent reports once more."""
    for uid in sorted(machine.stored):
        if uid in machine.freed and not machine.stored[uid].ended:
            machine.end(uid)
        machine.admit(uid)
    machine.hear(len(machine.news))
    machine.write(fingerprint_of)
    machine.deliver(-1)
