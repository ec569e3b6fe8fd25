"""What is free in zones between reports, sentence by sentence."""

from __future__ import annotations

from closeknit.model.container import Container
from closeknit.model.numa import TopologyManager
from closeknit.numa.demand import PodDemand
from closeknit.numa.placement_vector import ContainerName, encoded
from closeknit.state.numa.accounts import ZoneAccounts
from closeknit.state.numa.node_account import MINUTE
from closeknit.state.numa.pod_sets import LONGEST
from closeknit.state.numa.readings import MOST_READINGS

from .exporters import NODE, demand, free, pod, prints, report, unplaced

WRONG = "pfp0v0010123456789abcdef"


def accounts(*pods: str, free_cpus: tuple[int, int] = (64, 64)) -> ZoneAccounts:
    """Pods of one CPU in zone 0 and a report that accounts for them, at 0 s."""
    made = ZoneAccounts()
    for name in pods:
        made.pod(pod(name), -1000)
    made.report(report(*free_cpus, fingerprint=prints(*pods)), 0)
    return made


def test_a_node_without_a_report_has_no_reading() -> None:
    made = ZoneAccounts()
    made.pod(pod("a"), 0)
    found = made.readings(NODE, 0)
    assert (found.every, found.is_known, found.why) == ((), False, "Node n1 has no report of its zones.")
    assert made.readings("n2", 0).every == ()
    assert (made.doubtful(0), made.due(0)) == ([], None)


def test_pods_that_came_are_charged_and_pods_that_went_are_given_back_in_their_zones() -> None:
    made = accounts("a", free_cpus=(63, 64))
    made.pod(pod("b", 2, zone=1), 1)
    assert free(made.readings(NODE, 1)) == [(63, 62)]
    made.gone("uid-a", 2)
    found = made.readings(NODE, 2)
    assert (free(found), found.is_known) == ([(64, 62)], True)
    assert found.why == "Since the report of node n1, 1 pods with resources of their own came and 1 went."


def test_a_report_of_an_earlier_set_of_pods_counts_with_what_has_happened_since() -> None:
    made = accounts()
    made.pod(pod("a"), 1)
    made.pod(pod("b", zone=1), 2)
    made.gone("uid-a", 3)
    made.report(report(63, 64, fingerprint=prints("a")), 4)
    assert (free(made.readings(NODE, 4)), made.readings(NODE, 4).is_known) == ([(64, 63)], True)


def test_a_report_that_is_ahead_of_the_pods_counts_once_they_are_seen() -> None:
    made = accounts()
    made.report(report(60, 64, fingerprint=prints("foreign")), 1)
    assert not made.readings(NODE, 1).is_known
    made.pod(pod("foreign", 4, zone=None), 2)
    found = made.readings(NODE, 2)
    assert (found.is_known, free(found), unplaced(found)) == (True, [(60, 64)], [()])


def test_pods_that_a_kubelet_admits_in_another_order_match() -> None:
    made = accounts()
    for name in "abcd":
        made.pod(pod(name), 1)
    made.report(report(62, 64, fingerprint=prints("b", "d")), 2)
    assert (made.readings(NODE, 2).is_known, free(made.readings(NODE, 2))) == (True, [(60, 64)])


def test_an_ended_pod_is_given_back_whether_or_not_the_agent_counts_it() -> None:
    for counted in (["b"], ["a", "b"]):
        made = accounts("a", "b", free_cpus=(62, 64))
        made.pod(pod("a", ended=True), 1 + MINUTE)
        assert free(made.readings(NODE, 1 + MINUTE)) == [(63, 64)]
        made.report(report(63, 64, fingerprint=prints(*counted)), 100)
        assert (made.readings(NODE, 100).is_known, free(made.readings(NODE, 100))) == (True, [(63, 64)])


def test_a_pod_that_ends_just_after_a_report_is_given_back_once_it_is_known_that_the_agent_leaves_it_out() -> None:
    made = accounts("a", "b", free_cpus=(62, 64))
    made.pod(pod("a", ended=True), 1)
    assert free(made.readings(NODE, 1)) == [(62, 64), (63, 64)]
    made.report(report(63, 64, fingerprint=prints("b")), 2)
    made.pod(pod("b", ended=True), 3)
    assert (made.readings(NODE, 3).is_known, free(made.readings(NODE, 3))) == (True, [(64, 64)])


def test_pods_without_resources_of_their_own_change_nothing_and_enter_only_some_fingerprints() -> None:
    made = accounts()
    made.pod(pod("burstable", demand=demand(4, guaranteed=False), zone=None), 1)
    made.pod(pod("half", 1.5, zone=None), 1)
    made.pod(pod("a", 4), 1)
    assert (free(made.readings(NODE, 1)), unplaced(made.readings(NODE, 1))) == ([(60, 64)], [()])
    made.report(report(60, 64, fingerprint=prints("burstable", "half", "a")), 2)
    assert made.readings(NODE, 2).is_known
    made.report(report(60, 64, fingerprint=prints("a"), exclusive_only=True), 3)
    assert made.readings(NODE, 3).is_known


def test_devices_are_pinned_for_pods_of_any_class_if_zones_list_them() -> None:
    gpu = PodDemand.of([Container.of({"nvidia.com/gpu": 1}, {"nvidia.com/gpu": 1})])
    assert pod("a", demand=gpu).pins(frozenset({"nvidia.com/gpu"}))
    assert not pod("a", demand=gpu).pins(frozenset({"cpu"}))


def test_a_pod_of_unknown_zones_is_unplaced_when_it_comes_and_frees_nothing_when_it_goes() -> None:
    made = accounts()
    made.pod(pod("a", zone=None), 1)
    assert (free(made.readings(NODE, 1)), unplaced(made.readings(NODE, 1))) == ([(64, 64)], [("a",)])
    made.report(report(63, 64, fingerprint=prints("a")), 2)
    made.gone("uid-a", 3)
    assert free(made.readings(NODE, 3)) == [(63, 64)]
    made.report(report(64, 64, fingerprint=prints()), 4)
    assert free(made.readings(NODE, 4)) == [(64, 64)]


def test_zones_are_those_reported_then_those_observed_then_those_expected() -> None:
    made = accounts()
    made.pod(pod("a", expected={0: {"cpu": 1000}}), 1)
    assert made.zones_of("uid-a", 1) == {0: {"cpu": 1000}}
    made.pod(pod("a", expected={0: {"cpu": 1000}}, observed={1: {"cpu": 1000}}), 2)
    assert made.zones_of("uid-a", 2) == {1: {"cpu": 1000}}
    placement = encoded({ContainerName("default", "a", "c"): 0}, 2)
    made.report(report(63, 64, fingerprint=prints("a"), placement=placement), 3)
    assert made.zones_of("uid-a", 3) == {0: {"cpu": 1000}}
    assert made.zones_of("uid-x", 3) is None


def test_reported_zones_free_what_a_foreign_pod_had() -> None:
    made = ZoneAccounts()
    made.pod(pod("a", 4, zone=None), 0)
    placement = encoded({ContainerName("default", "a", "c"): 1}, 2)
    made.report(report(64, 60, fingerprint=prints("a"), placement=placement), 1)
    made.gone("uid-a", 2)
    assert free(made.readings(NODE, 2)) == [(64, 64)]


def test_a_placement_of_other_containers_or_of_a_node_where_they_may_span_zones_says_nothing() -> None:
    for name, policy in (("other", "single-numa-node"), ("a", "restricted")):
        made = ZoneAccounts()
        made.pod(pod("a", zone=None), 0)
        both = {ContainerName("default", one, "c"): 0 for one in {"a", name}}
        manager = TopologyManager(policy)  # type: ignore[arg-type]
        made.report(report(63, 64, fingerprint=prints("a"), placement=encoded(both, 2), manager=manager), 1)
        assert made.zones_of("uid-a", 1) is None


def test_zones_that_the_node_lacks_or_with_more_than_the_pod_asks_for_are_not_believed() -> None:
    made = accounts()
    for uid, zones in enumerate(({7: {"cpu": 1000}}, {0: {"cpu": 9000}}, {})):
        made.pod(pod("a", uid=f"a-{uid}", expected=zones), 1)
        assert made.zones_of(f"a-{uid}", 1) is None
        made.gone(f"a-{uid}", 1)


def test_nothing_is_freed_above_what_is_allocatable_or_charged_below_0() -> None:
    made = accounts("a")
    made.gone("uid-a", 1)
    made.pod(pod("b", 70, zone=1), 1)
    assert free(made.readings(NODE, 1)) == [(64, 0)]


def test_unmatched_a_report_is_read_as_with_all_pods_and_as_without_those_since_the_last_match() -> None:
    made = accounts("a", free_cpus=(63, 64))
    made.pod(pod("b", 2, zone=1), 1)
    made.report(report(63, 60, fingerprint=WRONG), 2)
    found = made.readings(NODE, 2)
    assert (free(found), found.is_known) == ([(63, 60), (63, 58), (63, 62)], False)
    assert (made.doubtful(2), made.due(2)) == ([], 2 + MINUTE)
    assert free(made.readings(NODE, 2 + MINUTE)) == [(63, 60), (63, 58)]
    assert made.due(2 + MINUTE) == 1 + LONGEST
    assert free(made.readings(NODE, 1 + LONGEST)) == [(63, 60)]


def test_a_node_is_doubtful_once_its_fingerprint_has_matched_nothing_for_a_minute_until_one_does() -> None:
    made = accounts()
    made.report(report(64, 64, fingerprint=WRONG), 10)
    made.report(report(64, 63, fingerprint=WRONG), 40)
    assert made.doubtful(69) == []
    (doubt,) = made.doubtful(70)
    assert doubt.node == NODE
    assert doubt.sentence == (
        "The NodeResourceTopology of node n1 has matched none of the node's recent sets of pods for 60 s, so pods are "
        "placed there only if they fit with and without the pods that came lately; restart the agent there, and let it "
        "count all pods (method all)."
    )
    made.report(report(64, 64, fingerprint=prints()), 80)
    assert made.doubtful(80) == []


def test_a_report_without_a_fingerprint_or_with_one_of_another_form_is_doubtful_at_once() -> None:
    made = ZoneAccounts()
    made.report(report(64, 64), 0)
    assert "has no fingerprint of its pods" in made.doubtful(0)[0].sentence
    assert "--pods-fingerprint" in made.doubtful(0)[0].sentence
    made.report(report(64, 64, fingerprint="pfp0v9990123456789abcdef"), 1)
    assert 'unknown form, "pfp0v9990123456789abcdef"' in made.doubtful(1)[0].sentence
    made.drop_report(NODE)
    assert made.doubtful(1) == []


def test_without_fingerprints_pods_count_as_reported_when_a_report_comes_a_minute_after_them() -> None:
    made = ZoneAccounts()
    made.report(report(64, 64), 0)
    made.pod(pod("a", 4), 10)
    assert free(made.readings(NODE, 10)) == [(60, 64)]
    made.report(report(60, 64), 15)
    assert free(made.readings(NODE, 15)) == [(60, 64), (56, 64)]
    made.report(report(60, 64), 75)
    assert free(made.readings(NODE, 75)) == [(60, 64)]


def test_a_pod_that_follows_one_of_the_same_name_leaves_both_readings_until_a_report_differs() -> None:
    made = accounts("w-0", free_cpus=(63, 64))
    made.gone("uid-w-0", 1)
    made.pod(pod("w-0", zone=1, uid="second"), 2)
    assert sorted(free(made.readings(NODE, 2))) == [(63, 64), (64, 63)]
    made.report(report(64, 63, fingerprint=prints("w-0")), 3)
    assert (made.readings(NODE, 3).is_known, free(made.readings(NODE, 3))) == (True, [(64, 63)])
    made.report(report(64, 63, fingerprint=prints("w-0")), 4)
    assert made.readings(NODE, 4).is_known


def test_many_readings_become_one_of_the_least() -> None:
    made = accounts()
    for number in range(MOST_READINGS + 2):
        made.pod(pod("w-0", 1 + number, zone=number % 2, uid=f"{number}"), number)
        made.gone(f"{number}", number)
    made.pod(pod("w-0", 10, zone=0, uid="last"), 9)
    made.report(report(54, 64, fingerprint=prints("w-0")), 10)
    assert free(made.readings(NODE, 10)) == [(44, 64)]


def test_without_its_report_a_node_is_forgotten_but_for_its_pods() -> None:
    made = accounts("a", free_cpus=(63, 64))
    made.drop_report(NODE)
    assert made.readings(NODE, 1).every == ()
    made.report(report(63, 64, fingerprint=prints("a")), 2)
    assert made.readings(NODE, 2).is_known
    made.gone("uid-a", 3)
    made.drop_report(NODE)
    made.gone("uid-a", 4)
    assert made.zones_of("uid-a", 4) is None


def test_a_pod_that_shows_up_on_another_node_leaves_the_first() -> None:
    made = accounts("a", free_cpus=(63, 64))
    moved = pod("a")
    made.pod(type(moved)(**{**{key: getattr(moved, key) for key in moved.__dataclass_fields__}, "node": "n2"}), 1)
    assert free(made.readings(NODE, 1)) == [(64, 64)]


def test_a_report_that_is_older_than_a_pod_does_not_tell_whether_the_agent_counts_ended_pods() -> None:
    """The first report was written before pod a came; the second counts a, which has ended, and not what it had."""
    made = ZoneAccounts()
    made.pod(pod("a"), 0)
    made.report(report(64, 64, fingerprint=prints()), 0)
    made.pod(pod("b"), 0)
    made.pod(pod("a", ended=True), 0)
    made.readings(NODE, 0)
    made.report(report(63, 64, fingerprint=prints("a", "b")), 0)
    assert min(free(made.readings(NODE, 0))) == (63, 64)
