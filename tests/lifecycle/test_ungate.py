"""Pods are ungated for the places of their ranks; where ranks are inconsistent, for any free place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from closeknit.dialects.kueue.topology_request import grouped
from closeknit.lifecycle.action import Action, GiveUp, Requeue, Ungate
from closeknit.lifecycle.ungate import BATCH, EARLIER, Expectations, StartTurn, UngateView, ungate
from closeknit.model.assignment import Assignment
from closeknit.model.gates import Gates
from closeknit.model.pod import Pod
from closeknit.model.request import Group, PodSet, Ranks, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME
from closeknit.model.workload import Admission, PodSetAssignment, Status, Workload, WorkloadPodSet

INDEX, JOB = "index", "job"
BY_INDEX = Ranks(INDEX)
BY_JOB = Ranks(INDEX, JOB, 2)
ONE_EACH = {"a": 1, "b": 1, "c": 1}
BACKWARDS = [2, 1, 0]
"""Ranks in the order in which pods are listed: by rank and greedily they go to different places."""


def on_hosts(hosts: Mapping[str, int]) -> Assignment:
    return Assignment.of((HOSTNAME,), (((host,), pods) for host, pods in hosts.items()))


class Set:
    """A pod set and where its pods go: by host, unless domains are given."""

    def __init__(
        self,
        hosts: Mapping[str, int] | Assignment | None,
        name: str = "main",
        ranks: Ranks = BY_INDEX,
        group: str | None = None,
        count: int | None = None,
        spec_count: int | None = None,
    ) -> None:
        topology = (
            Assignment.of((HOSTNAME,), (((h,), n) for h, n in hosts.items())) if isinstance(hosts, dict) else hosts
        )
        assert topology is None or isinstance(topology, Assignment)
        pods = count if count is not None else topology.pods if topology else 1
        self.grouped = PodSet(name, spec_count or pods, Shape.of({}), ranks=ranks), group
        self.given = PodSetAssignment(name, {}, {}, pods, topology)


def workload(*sets: Set, unhealthy: tuple[str, ...] = (), admitted: bool = True) -> Workload:
    status = Status(admission=Admission("q", tuple(one.given for one in sets)), unhealthy=unhealthy)
    status = status.condition("Admitted", admitted, "", "", 0.0)
    parts = tuple(WorkloadPodSet(one.given.name, {}) for one in sets)
    return Workload("ns", "w", grouped(one.grouped for one in sets), parts, status=status)


def pod(name: str, index: Any = None, on: str | None = None, **more: Any) -> Pod:
    """Gated, unless it is on a host already; its rank's label is left out for None."""
    labels = {} if index is None else {INDEX: str(index)}
    labels |= {JOB: str(job)} if (job := more.pop("job", None)) is not None else {}
    selector = {} if on is None else {HOSTNAME: on}
    known = {"workload": "w", "family": "w", "pod_set": "main", "phase": "Pending", "gated": on is None}
    return Pod("ns", name, name, labels, selector=selector, **{**known, **more})


def pods(*indexes: Any, **more: Any) -> list[Pod]:
    return [pod(f"p{index}", index, **more) for index in indexes]


def look(one: Workload, listed: list[Pod], **more: Any) -> list[Action]:
    return ungate(UngateView(one, listed, **more), 100.0)


def went(actions: list[Action]) -> dict[str, str]:
    """The host of each pod that was ungated."""
    return {one.pod.name: one.selector[HOSTNAME] for one in actions if isinstance(one, Ungate)}


BY_RANK = {"p2": "c", "p1": "b", "p0": "a"}
GREEDY = {"p2": "a", "p1": "b", "p0": "c"}


class TestByRank:
    def test_every_pod_goes_where_its_rank_says(self) -> None:
        assert went(look(workload(Set(ONE_EACH)), pods(*BACKWARDS))) == BY_RANK

    def test_ranks_fill_domains_in_the_order_of_the_assignment(self) -> None:
        listed = pods(4, 2, 0, 3, 1)
        assert went(look(workload(Set({"b": 2, "a": 1, "c": 2})), listed)) == {
            "p0": "b",
            "p1": "b",
            "p2": "a",
            "p3": "c",
            "p4": "c",
        }

    def test_pods_that_are_not_there_yet_keep_their_places(self) -> None:
        assert went(look(workload(Set(ONE_EACH)), pods(2))) == {"p2": "c"}

    def test_pods_that_went_before_are_left_alone(self) -> None:
        listed = [pod("p2", 2), pod("p1", 1, on="b"), pod("p0", 0)]
        assert went(look(workload(Set(ONE_EACH)), listed)) == {"p2": "c", "p0": "a"}

    def test_all_levels_are_named_where_the_lowest_is_not_the_host(self) -> None:
        racks = Assignment.of(("block", "rack"), [(("b1", "r1"), 1), (("b1", "r2"), 1)])
        (one,) = look(workload(Set(racks)), pods(1))
        assert one == Ungate(pod("p1", 1), {"block": "b1", "rack": "r2"})

    def test_of_a_host_only_its_name_is_selected(self) -> None:
        (one,) = look(workload(Set(ONE_EACH)), pods(1))
        assert one == Ungate(pod("p1", 1), {HOSTNAME: "b"})

    def test_leading_zeros_are_fine(self) -> None:
        assert went(look(workload(Set(ONE_EACH)), pods("02", "1", "0"))) == {"p02": "c", "p1": "b", "p0": "a"}

    def test_a_pod_that_waits_for_something_else_too_gets_its_place_all_the_same(self) -> None:
        listed = [pod("p1", 1, gates=("kueue.x-k8s.io/topology", "example.com/quota"))]
        assert went(look(workload(Set(ONE_EACH)), listed)) == {"p1": "b"}


class TestOneContradictionIsEnough:
    """Every condition of rank mode, failing alone, has the whole pod set filled greedily."""

    def test_no_label_is_known(self) -> None:
        assert went(look(workload(Set(ONE_EACH, ranks=Ranks())), pods(*BACKWARDS))) == GREEDY

    @pytest.mark.parametrize("index", [None, "", "x", "-1", "+1", "1.0", "1_0", " 1", "٣", "²", "9" * 30, "3"])
    def test_a_pod_without_a_rank_in_range(self, index: str | None) -> None:
        listed = [pod("p2", 2), pod("p1", index), pod("p0", 0)]
        assert went(look(workload(Set(ONE_EACH)), listed)) == GREEDY

    def test_two_pods_of_one_rank(self) -> None:
        listed = [pod("p2", 2), pod("p1", 2), pod("p0", 0)]
        assert went(look(workload(Set(ONE_EACH)), listed)) == GREEDY

    def test_a_rank_below_zero(self) -> None:
        listed = [pod("p2", 3, index_offset="1"), pod("p1", 2), pod("p0", 0)]
        assert went(look(workload(Set(ONE_EACH)), listed)) == GREEDY

    def test_a_rank_beyond_the_count(self) -> None:
        """Pod 1 of job 1 would be the fifth of four."""
        one = workload(Set({"a": 1, "b": 1, "c": 1, "d": 2}, ranks=BY_JOB, count=4))
        listed = [pod("last", 1, job=1, index_offset="-1"), pod("first", 0, job=0)]
        assert went(look(one, listed)) == {"last": "a", "first": "b"}

    def test_a_rank_beyond_what_was_assigned(self) -> None:
        one = workload(Set({"a": 1, "b": 1}, count=3))
        assert went(look(one, pods(*BACKWARDS))) == {"p2": "a", "p1": "b"}
        assert went(look(one, pods(1, 0))) == {"p1": "b", "p0": "a"}

    def test_nothing_was_assigned(self) -> None:
        assert look(workload(Set(Assignment((HOSTNAME,), (), ()), count=3)), pods(*BACKWARDS)) == []

    def test_a_pod_that_sits_elsewhere(self) -> None:
        listed = [pod("p2", 2), pod("p1", 1, on="a"), pod("p0", 0)]
        assert went(look(workload(Set(ONE_EACH)), listed)) == {"p2": "b", "p0": "c"}

    def test_a_pod_that_went_without_a_place(self) -> None:
        listed = [pod("p2", 2), replace(pod("p1", 1, on="b"), selector={}), pod("p0", 0)]
        assert went(look(workload(Set(ONE_EACH)), listed)) == {"p2": "a", "p0": "b"}

    def test_one_level_that_differs_is_enough(self) -> None:
        racks = Assignment.of(("block", "rack"), [(("b1", "r"), 1), (("b2", "r"), 1)])
        sits = replace(pod("p1", 1, on="x"), selector={"block": "b1", "rack": "r"})
        (one,) = look(workload(Set(racks)), [sits, pod("p0", 0)])
        assert one == Ungate(pod("p0", 0), {"block": "b2", "rack": "r"})

    def test_the_count_is_what_was_admitted_and_not_what_was_asked_for(self) -> None:
        one = workload(Set({"a": 1, "b": 1, "c": 1}, count=2, spec_count=3))
        assert went(look(one, pods(2, 0))) == {"p2": "a", "p0": "b"}
        assert went(look(one, pods(1, 0))) == {"p1": "b", "p0": "a"}

    def test_other_pod_sets_keep_their_ranks(self) -> None:
        one = workload(Set(ONE_EACH, "x"), Set({"d": 1, "e": 1}, "y"))
        listed = [*pods(*BACKWARDS, pod_set="x"), pod("y1", 1, pod_set="y"), pod("stray", pod_set="y")]
        assert went(look(one, listed)) == {**BY_RANK, "y1": "d", "stray": "e"}


class TestJobsOfJobs:
    """Two jobs of two pods each, on hosts a to d: pod 1 of job 0 has rank 1, pod 0 of job 1 rank 2."""

    HOSTS: ClassVar = {"a": 1, "b": 1, "c": 1, "d": 1}
    LISTED = (("11", 1, 1), ("10", 0, 1), ("01", 1, 0), ("00", 0, 0))
    GREEDY: ClassVar = {"11": "a", "10": "b", "01": "c", "00": "d"}

    def run(self, ranks: Ranks = BY_JOB, count: int = 4, **changed: tuple[Any, Any]) -> dict[str, str]:
        """Pods by name are (index in the job, number of the job)."""
        listed = []
        for name, index, job in self.LISTED:
            index, job = changed.get(f"p{name}", (index, job))
            listed.append(pod(name, index, job=job))
        return went(look(workload(Set(self.HOSTS, ranks=ranks, count=count)), listed))

    def test_jobs_follow_each_other(self) -> None:
        assert self.run() == {"11": "d", "10": "c", "01": "b", "00": "a"}

    def test_a_pod_that_does_not_say_which_job(self) -> None:
        assert self.run(p10=(0, None)) == self.GREEDY

    @pytest.mark.parametrize("job", ["2", "x", "-1"])
    def test_a_job_beyond_their_number(self, job: str) -> None:
        assert self.run(p10=(0, job)) == self.GREEDY

    def test_a_job_beyond_their_number_where_a_place_is_left_over(self) -> None:
        one = workload(Set({**self.HOSTS, "e": 1}, ranks=BY_JOB))
        assert went(look(one, [pod("20", 0, job=2), pod("00", 0, job=0)])) == {"20": "a", "00": "b"}

    def test_a_pod_beyond_the_size_of_a_job(self) -> None:
        assert self.run(p01=(2, 0)) == self.GREEDY

    def test_a_pod_beyond_the_size_of_a_job_with_an_unused_place(self) -> None:
        one = workload(Set(self.HOSTS, ranks=BY_JOB))
        assert went(look(one, [pod("02", 2, job=0), pod("11", 1, job=1)])) == {"02": "a", "11": "b"}

    @pytest.mark.parametrize("number", [None, 0, -1])
    def test_the_number_of_jobs_is_unknown(self, number: int | None) -> None:
        assert self.run(Ranks(INDEX, JOB, number)) == self.GREEDY

    def test_pods_that_do_not_divide_into_jobs_leave_the_last_places_empty(self) -> None:
        """Five pods in two jobs: jobs of two."""
        one = workload(Set({**self.HOSTS, "e": 1}, ranks=BY_JOB))
        listed = [pod("11", 1, job=1), pod("00", 0, job=0)]
        assert went(look(one, listed)) == {"11": "d", "00": "a"}

    def test_their_number_alone_means_nothing(self) -> None:
        ranks = Ranks(INDEX, None, 2)
        assert went(look(workload(Set(ONE_EACH, ranks=ranks)), pods(*BACKWARDS))) == BY_RANK


class TestGroups:
    """A leader has index 0, its workers go on from 1."""

    LEADER = Set({"z": 1}, "leader", group="g")
    WORKERS = Set(ONE_EACH, "workers", group="g")

    def listed(self, *indexes: int, **more: Any) -> list[Pod]:
        leader = pod("leader", 0, pod_set="leader")
        return [leader, *(pod(f"w{index}", index, pod_set="workers", **more) for index in indexes)]

    @pytest.mark.parametrize("sets", [(LEADER, WORKERS), (WORKERS, LEADER)])
    def test_workers_count_on_from_the_leader_in_either_order(self, sets: tuple[Set, ...]) -> None:
        assert went(look(workload(*sets), self.listed(3, 2, 1))) == {"leader": "z", "w3": "c", "w2": "b", "w1": "a"}

    def test_workers_that_count_from_zero_have_no_ranks(self) -> None:
        assert went(look(workload(self.LEADER, self.WORKERS), self.listed(2, 1, 0))) == {
            "leader": "z",
            "w2": "a",
            "w1": "b",
            "w0": "c",
        }

    def test_a_worker_beyond_the_last(self) -> None:
        assert went(look(workload(self.LEADER, self.WORKERS), self.listed(4, 2, 1))) == {
            "leader": "z",
            "w4": "a",
            "w2": "b",
            "w1": "c",
        }

    def test_of_two_that_are_as_large_the_first_comes_first(self) -> None:
        one = workload(Set({"a": 1, "b": 1}, "x", group="g"), Set({"c": 1, "d": 1}, "y", group="g"))
        listed = [*(pod(f"x{i}", i, pod_set="x") for i in (1, 0)), *(pod(f"y{i}", i, pod_set="y") for i in (3, 2))]
        assert went(look(one, listed)) == {"x1": "b", "x0": "a", "y3": "d", "y2": "c"}

    def test_three_of_one_name_are_no_group(self) -> None:
        one = workload(*(Set({f"{name}0": 1, f"{name}1": 1}, name, group="g") for name in "xyz"))
        listed = [pod(f"{name}{i}", i, pod_set=name) for name in "xyz" for i in (1, 0)]
        assert went(look(one, listed)) == {name: name for name in ("x1", "x0", "y1", "y0", "z1", "z0")}

    def test_two_of_different_names_are_none_either(self) -> None:
        one = workload(Set({"a": 1}, "leader", group="g"), Set(ONE_EACH, "workers", group="h"))
        assert went(look(one, self.listed(2, 1, 0)))["w2"] == "c"


class TestOffset:
    """What the first pod says of the first index is added to where its set begins and ends."""

    def test_indexes_may_begin_anywhere(self) -> None:
        listed = [pod(f"p{i}", i, index_offset="5") for i in (7, 6, 5)]
        assert went(look(workload(Set(ONE_EACH)), listed)) == {"p7": "c", "p6": "b", "p5": "a"}

    def test_only_the_first_pod_is_asked(self) -> None:
        listed = [pod("p2", 2), pod("p1", 1, index_offset="7"), pod("p0", 0, index_offset="x")]
        assert went(look(workload(Set(ONE_EACH)), listed)) == BY_RANK

    def test_a_pod_that_has_ended_is_not_asked(self) -> None:
        listed = [pod("old", 0, index_offset="x", phase="Failed"), *pods(*BACKWARDS)]
        assert went(look(workload(Set(ONE_EACH)), listed)) == BY_RANK

    def test_in_a_group_it_comes_on_top(self) -> None:
        one = workload(Set({"z": 1}, "leader", group="g"), Set(ONE_EACH, "workers", group="g"))
        listed = [pod(f"w{i}", i, pod_set="workers", index_offset="10") for i in (13, 12, 11)]
        assert went(look(one, listed)) == {"w13": "c", "w12": "b", "w11": "a"}

    @pytest.mark.parametrize("offset", ["x", "1.5", "1 ", "0x1"])
    def test_an_offset_that_is_no_number_stops_everything(self, offset: str) -> None:
        one = workload(Set({"z": 1}, "leader"), Set(ONE_EACH))
        listed = [pod("l", 0, pod_set="leader"), pod("p0", 0, index_offset=offset)]
        assert look(one, listed) == [GiveUp("failed to parse offset annotation")]


class TestGreedily:
    def test_domains_are_filled_in_order_by_pods_in_order(self) -> None:
        one = workload(Set({"a": 2, "b": 0, "c": 1}, ranks=Ranks()))
        assert went(look(one, [pod("x"), pod("y"), pod("z")])) == {"x": "a", "y": "a", "z": "c"}

    def test_places_that_are_taken_are_not_given_again(self) -> None:
        one = workload(Set({"a": 2, "b": 2}, ranks=Ranks()))
        listed = [pod("old", on="a"), pod("older", on="b"), pod("x"), pod("y")]
        assert went(look(one, listed)) == {"x": "a", "y": "b"}

    def test_more_pods_than_places_wait(self) -> None:
        one = workload(Set({"a": 1}, ranks=Ranks()))
        assert went(look(one, [pod("old", on="a"), pod("x")])) == {}
        assert went(look(one, [pod("x"), pod("y")])) == {"x": "a"}

    def test_too_many_in_one_domain_take_nothing_from_the_next(self) -> None:
        one = workload(Set({"a": 1, "b": 1}, ranks=Ranks()))
        assert went(look(one, [pod("1", on="a"), pod("2", on="a"), pod("x"), pod("y")])) == {"x": "b"}

    def test_a_pod_that_ended_gives_back_its_place(self) -> None:
        one = workload(Set({"a": 1}, ranks=Ranks()))
        for phase in ("Failed", "Succeeded"):
            assert went(look(one, [pod("old", on="a", phase=phase), pod("x")])) == {"x": "a"}

    def test_a_pod_that_is_on_its_way_out_still_has_it(self) -> None:
        one = workload(Set({"a": 1}, ranks=Ranks()))
        assert went(look(one, [pod("old", on="a", deleting=True), pod("x")])) == {}

    def test_pods_on_hosts_that_were_replaced_count_nowhere(self) -> None:
        one = workload(Set({"a": 1}, ranks=Ranks()))
        assert went(look(one, [pod("old", on="gone"), pod("x")])) == {"x": "a"}


class TestReplacements:
    """Rank 0 belongs to x3 and rank 1 to x1, but rank 1 runs on x3."""

    PLAN = Set({"x3": 1, "x1": 1})

    def test_a_replacement_does_not_join_a_pod_that_runs_in_its_place(self) -> None:
        listed = [pod("p1-running", 1, on="x3", phase="Running"), pod("p0-replacement", 0)]
        assert went(look(workload(self.PLAN), listed)) == {"p0-replacement": "x1"}

    def test_nor_while_the_pod_that_it_replaces_is_still_going(self) -> None:
        listed = [
            pod("p0", 0, on="x9", phase="Running", deleting=True),
            pod("p1-running", 1, on="x3", phase="Running"),
            pod("p0-replacement", 0),
        ]
        assert went(look(workload(self.PLAN), listed)) == {"p0-replacement": "x1"}

    def test_where_plan_and_pods_agree_it_takes_the_place_of_its_rank(self) -> None:
        listed = [pod("p1-running", 1, on="x1", phase="Running"), pod("p0-replacement", 0)]
        assert went(look(workload(self.PLAN), listed)) == {"p0-replacement": "x3"}


class TestHostsThatFailed:
    @pytest.mark.parametrize("ranks", [BY_INDEX, Ranks()])
    def test_no_pod_is_sent_there_and_no_pod_gets_the_place_of_another(self, ranks: Ranks) -> None:
        one = workload(Set(ONE_EACH, ranks=ranks), unhealthy=("b",))
        assert went(look(one, pods(0, 1, 2))) == {"p0": "a", "p2": "c"}

    def test_where_finished_places_are_reused_only_pods_with_a_place_by_rank_go_before_the_second_pass(self) -> None:
        reuse = Gates(frozenset({"ReuseFinishedPlaces"}))
        assert went(look(workload(Set(ONE_EACH), unhealthy=("b",)), pods(0, 1, 2), gates=reuse)) == {
            "p0": "a",
            "p2": "c",
        }
        greedy = Set(ONE_EACH, ranks=Ranks())
        assert went(look(workload(greedy, unhealthy=("b",)), pods(0, 1, 2), gates=reuse)) == {}
        assert went(look(workload(greedy, unhealthy=("x",)), pods(0, 1, 2), gates=reuse)) == {
            "p0": "a",
            "p1": "b",
            "p2": "c",
        }

    def test_several_may_have_failed(self) -> None:
        assert went(look(workload(Set(ONE_EACH), unhealthy=("b", "a")), pods(0, 1, 2))) == {"p2": "c"}

    def test_a_rack_by_the_name_of_a_failed_host_is_a_rack(self) -> None:
        racks = Assignment.of(("rack",), [(("b",), 1)])
        assert len(look(workload(Set(racks), unhealthy=("b",)), pods(0))) == 1


class TestWhoseTurnItIs:
    ONE = workload(Set(ONE_EACH))

    def test_not_before_admission(self) -> None:
        assert look(workload(Set(ONE_EACH), admitted=False), pods(0)) == []
        assert look(replace(self.ONE, status=replace(self.ONE.status, admission=None)), pods(0)) == []

    def test_not_without_places(self) -> None:
        assert look(workload(Set(None)), pods(0)) == []

    @pytest.mark.parametrize(
        "other", [{"family": "v"}, {"family": ""}, {"namespace": "elsewhere"}, {"pod_set": "x"}, {"pod_set": ""}]
    )
    def test_pods_of_others_are_left_alone_and_take_no_place(self, other: dict[str, str]) -> None:
        stray = replace(pod("stray", 0), **other)  # type: ignore[arg-type]
        assert went(look(self.ONE, [stray, *pods(*BACKWARDS)])) == BY_RANK

    def test_pods_of_an_elastic_workload_go_by_the_name_that_its_slices_share(self) -> None:
        old = pod("p0", 0, on="a", workload="first", family="first")
        new = pod("p1", 1, workload="w", family="first")
        assert went(look(self.ONE, [old, new], family="first")) == {"p1": "b"}
        assert went(look(self.ONE, [old, new])) == {}


class TestExpectations:
    def test_nothing_is_ungated_while_others_are_in_flight(self) -> None:
        actions = look(workload(Set(ONE_EACH)), pods(0), under_way={"x"})
        assert actions == [Requeue(100.0 + BATCH, "pending ungate operations")]

    def test_a_workload_waits_until_all_have_been_seen(self) -> None:
        expected = Expectations()
        expected.expect("ns/w", ["x", "y"])
        expected.expect("ns/v", ["z"])
        expected.observe("x")
        assert expected.under_way("ns/w") == {"y"}
        expected.observe("y")
        assert expected.under_way("ns/w") == frozenset()
        assert expected.under_way("ns/v") == {"z"}

    def test_unexpected_pods_change_nothing(self) -> None:
        expected = Expectations()
        expected.observe("x")
        expected.expect("ns/w", [])
        assert expected.under_way("ns/w") == frozenset()

    def test_a_pod_is_waited_for_once(self) -> None:
        expected = Expectations()
        expected.expect("ns/first", ["x"])
        expected.expect("ns/second", ["x"])
        assert expected.under_way("ns/first") == frozenset()
        expected.observe("x")
        assert expected.under_way("ns/second") == frozenset()

    def test_what_was_handed_out_does_not_change(self) -> None:
        expected = Expectations()
        expected.expect("ns/w", ["x"])
        before = expected.under_way("ns/w")
        expected.observe("x")
        assert before == {"x"}


class TestTrees:
    """Groups with any number of pod sets, at any depth."""

    @staticmethod
    def of(request: Request, *sets: Set) -> Workload:
        return replace(workload(*sets), request=request)

    SETS = (
        Set({"a": 1, "b": 2}, "large"),
        Set({"c": 1}, "small"),
        Set({"d": 1, "e": 1}, "middle"),
    )

    def listed(self, large: int, small: int, middle: int) -> list[Pod]:
        """Each pod set numbered from here on, the last pod first."""
        return [
            pod(f"{name}{number}", first + number, pod_set=name)
            for name, first, count in (("large", large, 3), ("small", small, 1), ("middle", middle, 2))
            for number in reversed(range(count))
        ]

    PLACES: ClassVar = {
        "large0": "a",
        "large1": "b",
        "large2": "b",
        "small0": "c",
        "middle0": "d",
        "middle1": "e",
    }

    def test_three_pod_sets_are_numbered_through_the_smallest_first(self) -> None:
        members = tuple(one.grouped[0] for one in self.SETS)
        one = self.of(Request((Group(members, "g"),)), *self.SETS)
        assert went(look(one, self.listed(3, 0, 1))) == self.PLACES

    def test_every_group_of_a_tree_begins_at_0(self) -> None:
        large, small, middle = (one.grouped[0] for one in self.SETS)
        tree = Request((Group((Group((large, small), "inner"), Group((Group((middle,)),))), "all"),))
        assert went(look(self.of(tree, *self.SETS), self.listed(1, 0, 0))) == self.PLACES


class TestTurns:
    """Where NUMA zones are known, pods start in the planned order."""

    def test_pods_wait_for_those_before_them_on_their_host_only(self) -> None:
        turns = {"main": {"a": StartTurn(False), "b": StartTurn(True)}}
        found = look(workload(Set({"a": 1, "b": 1})), pods(0, 1), turns=turns)
        assert went(found) == {"p1": "b"}
        assert found[-1] == Requeue(100.0 + BATCH, EARLIER)

    def test_a_pod_for_which_no_zones_are_left_waits_while_that_is_strict(self) -> None:
        zones = ({0: {"cpu": 2000}},)
        for is_strict, expected in ((True, {"p0": "a"}), (False, {"p0": "a", "p1": "a"})):
            turns = {"main": {"a": StartTurn(True, zones, is_strict)}}
            found = look(workload(Set({"a": 2})), pods(0, 1), turns=turns)
            assert went(found) == expected
            assert [one.zones for one in found if isinstance(one, Ungate)] == [zones[0], {}][: len(expected)]
            assert (Requeue(100.0 + BATCH, EARLIER) in found) == is_strict
