from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects.kueue import keys
from closeknit.dialects.kueue.topology_request import TopologyRequest, WireLayer
from closeknit.dialects.kueue.validation import (
    Member,
    count_mistakes,
    elastic_mistakes,
    group_mistakes,
    request_mistakes,
    template_mistakes,
)
from closeknit.model.gates import Gates
from closeknit.model.mistake import Mistake

KUEUE = Gates.profile("kueue")
OURS = Gates.profile("closeknit")
BLOCK, RACK = "example.com/block", "example.com/rack"
LONG = "example.com/" + "r" * 52


def said(mistakes: list[Mistake]) -> str:
    return "\n".join(map(str, mistakes))


def template(annotations: dict[str, str], gates: Gates = KUEUE) -> str:
    return said(template_mistakes(annotations, gates))


def layers(*entries: tuple[str, int]) -> dict[str, str]:
    return {keys.LAYERS: json.dumps([{"topology": level, "size": size} for level, size in entries])}


def slices(size: str = "4", level: str = RACK) -> dict[str, str]:
    return {keys.SLICE_LEVEL: level, keys.SLICE_SIZE: size}


# Rule 1


@pytest.mark.parametrize("key", [keys.REQUIRED, keys.PREFERRED])
def test_one_of_required_preferred_and_unconstrained_is_fine(key: str) -> None:
    assert template({key: RACK}) == ""
    assert template({keys.UNCONSTRAINED: "true"}) == ""


def test_two_of_required_preferred_and_unconstrained_are_refused() -> None:
    assert template({keys.REQUIRED: RACK, keys.PREFERRED: RACK}) == (
        f"{keys.PREFERRED}: cannot be combined with {keys.REQUIRED}; "
        "keep one of them, or enable the feature gate RequiredAndPreferred"
    )
    assert template({keys.PREFERRED: RACK, keys.UNCONSTRAINED: "true"}) == (
        f"{keys.UNCONSTRAINED}: cannot be combined with {keys.PREFERRED}; keep one of them"
    )


def test_all_three_at_once_are_one_mistake() -> None:
    mistakes = template_mistakes({keys.REQUIRED: RACK, keys.PREFERRED: RACK, keys.UNCONSTRAINED: "true"}, KUEUE)
    assert [mistake.field for mistake in mistakes] == [keys.UNCONSTRAINED]


def test_our_gate_allows_required_and_preferred_together() -> None:
    assert template({keys.REQUIRED: BLOCK, keys.PREFERRED: RACK}, OURS) == ""


@pytest.mark.parametrize("key", [keys.REQUIRED, keys.PREFERRED])
def test_our_gate_still_refuses_unconstrained_with_either(key: str) -> None:
    assert "cannot be combined" in template({key: RACK, keys.UNCONSTRAINED: "true"}, OURS)


# Rule 2


@pytest.mark.parametrize("level", ["rack", RACK, "kubernetes.io/hostname", "a.b-c/D_e.f"])
def test_a_level_is_a_label_name(level: str) -> None:
    assert template({keys.REQUIRED: level}) == ""
    assert template({keys.PREFERRED: level}) == ""
    assert template(slices(level=level)) == ""


@pytest.mark.parametrize("level", ["", "/rack", "a/b/c", "Example.com/rack", "rack!", "example.com/"])
@pytest.mark.parametrize("key", [keys.REQUIRED, keys.PREFERRED, keys.SLICE_LEVEL])
def test_what_is_no_label_name_is_no_level(key: str, level: str) -> None:
    annotations = {keys.SLICE_SIZE: "1"} if key == keys.SLICE_LEVEL else {}
    assert template({**annotations, key: level}).startswith(f'{key}: is "{level}", not a label name; ')


def test_a_level_longer_than_a_workload_takes_is_refused() -> None:
    assert template({keys.REQUIRED: LONG[:63]}) == ""
    assert template({keys.REQUIRED: LONG}) == f"{keys.REQUIRED}: has 64 characters; a Workload allows at most 63"


def test_auto_is_a_level_of_pod_sets_but_not_of_slices() -> None:
    assert template({keys.REQUIRED: "auto"}, OURS) == ""
    assert template({keys.PREFERRED: "auto"}, OURS) == ""
    refusal = 'is "auto", which is not allowed for slices; name the level that holds one slice'
    assert template(slices(level="auto"), OURS) == f"{keys.SLICE_LEVEL}: {refusal}"
    assert template(layers(("auto", 4)), OURS) == f"{keys.LAYERS}[0].topology: {refusal}"


def test_without_our_gate_auto_is_a_label_like_any_other() -> None:
    assert template({keys.REQUIRED: "auto"}) == ""
    assert template(slices(level="auto")) == ""


# Rule 3


def test_a_group_has_a_name_and_a_level() -> None:
    assert template({keys.GROUP: "train", keys.REQUIRED: RACK}) == ""
    assert template({keys.GROUP: "train", keys.PREFERRED: RACK}) == ""
    assert template({keys.GROUP: "-1", keys.PREFERRED: RACK}) == ""
    assert template({keys.GROUP: str(2**64), keys.PREFERRED: RACK}) == ""


@pytest.mark.parametrize("name", ["0", "17", "007", str(2**64 - 1)])
def test_a_group_is_not_named_by_a_number(name: str) -> None:
    assert template({keys.GROUP: name, keys.REQUIRED: RACK}) == (
        f'{keys.GROUP}: is "{name}", a number; use a name that is not a number'
    )


def test_a_group_without_a_level_is_refused() -> None:
    assert template({keys.GROUP: "train"}) == (
        f"{keys.GROUP}: requires a level; add {keys.REQUIRED} or {keys.PREFERRED}"
    )
    assert "requires a level" in template({keys.GROUP: "train", keys.UNCONSTRAINED: "true"})


@pytest.mark.parametrize("extra", [slices(), layers((RACK, 4))])
def test_a_group_has_no_slices(extra: dict[str, str]) -> None:
    mistakes = template_mistakes({keys.GROUP: "train", keys.REQUIRED: BLOCK, **extra}, KUEUE)
    assert {mistake.field for mistake in mistakes} == {keys.GROUP}
    assert len(mistakes) == len(extra)


def test_a_group_name_has_at_most_256_characters() -> None:
    assert template({keys.GROUP: "g" * 256, keys.REQUIRED: RACK}) == ""
    assert "has 257 characters" in template({keys.GROUP: "g" * 257, keys.REQUIRED: RACK})
    assert "has 5000 characters" in template({keys.GROUP: "1" * 5000, keys.REQUIRED: RACK})


# Rule 4


@pytest.mark.parametrize("value", ["true", "false", "1", "F", "TRUE"])
def test_unconstrained_is_a_boolean_as_go_parses_it(value: str) -> None:
    assert template({keys.UNCONSTRAINED: value}) == ""


@pytest.mark.parametrize("value", ["yes", "", "tRUE", " true"])
def test_unconstrained_is_nothing_else(value: str) -> None:
    assert template({keys.UNCONSTRAINED: value}) == f'{keys.UNCONSTRAINED}: is "{value}"; use "true" or "false"'


# Rule 5


@pytest.mark.parametrize("size", ["1", "+4", "0016", "2147483647"])
def test_a_slice_size_is_a_positive_int32(size: str) -> None:
    assert template(slices(size)) == ""


@pytest.mark.parametrize("size", ["", "four", "4.0", "4 ", "1_000", "2147483648", "9" * 5000, "٤"])
def test_a_slice_size_that_is_no_int32_is_refused(size: str) -> None:
    assert "not a whole number" in template(slices(size))


@pytest.mark.parametrize("size", ["0", "-4", "-2147483648"])
def test_a_slice_has_at_least_one_pod(size: str) -> None:
    assert template(slices(size)) == f"{keys.SLICE_SIZE}: is {size}; a slice has at least 1 pod"


def test_slice_level_and_slice_size_come_together() -> None:
    assert template({keys.SLICE_LEVEL: RACK}) == f"{keys.SLICE_LEVEL}: requires {keys.SLICE_SIZE}; add it"
    assert template({keys.SLICE_SIZE: "4"}) == f"{keys.SLICE_SIZE}: requires {keys.SLICE_LEVEL}; add it"


# Rule 6


def test_one_to_three_layers_that_divide_each_other_are_fine() -> None:
    assert template(layers((BLOCK, 16))) == ""
    assert template(layers((BLOCK, 16), (RACK, 8), ("kubernetes.io/hostname", 8))) == ""


def test_layers_are_refused_when_their_gate_is_off() -> None:
    off = Gates.profile("kueue", {"TASMultiLayerTopology": False})
    assert template(layers((RACK, 4)), off) == (
        f"{keys.LAYERS}: requires the feature gate TASMultiLayerTopology; enable it"
    )


def test_layers_cannot_be_combined_with_single_slices() -> None:
    text = template({**layers((RACK, 4)), **slices()})
    assert f"{keys.LAYERS}: cannot be combined with {keys.SLICE_LEVEL}; keep one of them" in text
    assert f"{keys.LAYERS}: cannot be combined with {keys.SLICE_SIZE}; keep one of them" in text


@pytest.mark.parametrize(
    "value", ["", "4", "{}", "null", "[", '[{"topology": 4}]', '[{"topology": "a", "size": "4"}]', '["\\ud800"]']
)
def test_layers_that_are_no_json_list_are_refused(value: str) -> None:
    assert "is not a JSON list of layers" in template({keys.LAYERS: value})


def test_there_are_one_to_three_layers() -> None:
    assert template({keys.LAYERS: "[]"}) == f"{keys.LAYERS}: has 0 entries; use one to 3"
    assert "has 4 entries" in template(layers(("a", 8), ("b", 4), ("c", 2), ("d", 1)))


def test_a_layer_names_a_label_and_has_a_size() -> None:
    assert 'LAYERS[0].topology: is "a/b/c", not a label name' in template(layers(("a/b/c", 4))).replace(
        keys.LAYERS, "LAYERS"
    )
    assert template(layers((RACK, 0))) == f"{keys.LAYERS}[0].size: is 0; a slice has at least 1 pod"
    assert "beyond 32 bits" in template(layers((RACK, 2**31)))


def test_each_layer_has_a_level_of_its_own() -> None:
    assert template(layers((RACK, 8), (RACK, 4))) == (
        f'{keys.LAYERS}[1].topology: is "{RACK}" a second time; name each level once'
    )


def test_a_layer_divides_the_one_above() -> None:
    assert template(layers((BLOCK, 16), (RACK, 6))) == (
        f"{keys.LAYERS}[1].size: is 6, which does not divide the 16 of the layer above; use a divisor of it"
    )


def test_the_order_of_layers_is_not_checked_without_the_topology() -> None:
    assert template(layers(("kubernetes.io/hostname", 4), (BLOCK, 4))) == ""


# Rule 7


def test_a_slice_fits_into_the_pod_set() -> None:
    assert count_mistakes(slices("4"), 4, KUEUE) == []
    assert count_mistakes(layers((BLOCK, 4), (RACK, 2)), 4, KUEUE) == []
    assert count_mistakes({keys.REQUIRED: RACK}, 0, KUEUE) == []


def test_a_slice_larger_than_the_pod_set_is_refused() -> None:
    assert said(count_mistakes(slices("5"), 4, KUEUE)) == (
        f"{keys.SLICE_SIZE}: is 5, but there are only 4 pods; use slices of at most 4, or at least 5 pods"
    )
    assert said(count_mistakes(layers((BLOCK, 5), (RACK, 1)), 1, OURS)) == (
        f"{keys.LAYERS}: is 5, but there is only 1 pod; use slices of at most 1, or at least 5 pods"
    )


def test_rule_7_leaves_plain_pods_alone() -> None:
    assert count_mistakes(slices("5"), 4, KUEUE, bounded=False) == []


def test_kueue_takes_a_count_that_slices_do_not_divide() -> None:
    assert count_mistakes(slices("4"), 10, KUEUE) == []


def test_our_gate_names_the_two_nearest_counts_that_slices_divide() -> None:
    assert said(count_mistakes(slices("4"), 10, OURS)) == (
        f"{keys.SLICE_SIZE}: 10 pods do not divide into slices of 4; use 8 or 12 pods"
    )
    assert said(count_mistakes(layers((BLOCK, 8), (RACK, 2)), 10, OURS)) == (
        f"{keys.LAYERS}: 10 pods do not divide into slices of 8; use 8 or 16 pods"
    )
    assert said(count_mistakes(slices("4"), 1, OURS, bounded=False)) == (
        f"{keys.SLICE_SIZE}: 1 pod does not divide into slices of 4; use 4 pods"
    )
    assert count_mistakes(slices("4"), 12, OURS) == []


def test_an_invalid_size_is_reported_only_once() -> None:
    assert count_mistakes(slices("four"), 4, OURS) == []
    assert count_mistakes(slices("0"), 4, OURS) == []
    assert count_mistakes({keys.LAYERS: "["}, 4, OURS) == []


# Rule 8


def member(name: str, count: int, **levels: str) -> Member:
    named = {{"required": keys.REQUIRED, "preferred": keys.PREFERRED}[kind]: level for kind, level in levels.items()}
    return Member(name, count, {keys.GROUP: "g", **named}, f"spec.{name}")


def test_a_leader_and_its_workers_are_a_group() -> None:
    assert group_mistakes([member("leader", 1, required=RACK), member("workers", 8, required=RACK)]) == []
    assert group_mistakes([member("workers", 8, preferred=RACK), member("leader", 1, preferred=RACK)]) == []


def test_pod_sets_without_a_group_or_in_groups_of_their_own_do_not_mix() -> None:
    alone = Member("alone", 5, {keys.REQUIRED: BLOCK})
    assert group_mistakes([member("a", 1, required=RACK), alone, member("b", 2, required=RACK)]) == []


@pytest.mark.parametrize(("size", "number"), [(1, "1 pod set"), (3, "3 pod sets")])
def test_a_group_has_exactly_two_pod_sets(size: int, number: str) -> None:
    members = [member(f"set{i}", 1, required=RACK) for i in range(size)]
    assert said(group_mistakes(members)) == (
        f'spec.set{size - 1}[{keys.GROUP}]: group "g" has {number}; a group is a leader and its workers'
    )


def test_one_pod_set_of_a_group_is_a_single_pod() -> None:
    assert said(group_mistakes([member("a", 2, required=RACK), member("b", 3, required=RACK)])) == (
        f'spec.b[{keys.GROUP}]: group "g" has 2 pods in a and 3 pods in b; one of the two must have 1 pod'
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"required": RACK}, {"required": BLOCK}),
        ({"required": RACK}, {"preferred": RACK}),
        ({"preferred": RACK}, {"preferred": BLOCK}),
        ({"required": RACK, "preferred": BLOCK}, {"required": RACK}),
    ],
)
def test_both_pod_sets_of_a_group_ask_for_the_same_level(one: dict[str, str], other: dict[str, str]) -> None:
    text = said(group_mistakes([member("a", 1, **one), member("b", 3, **other)]))
    assert 'group "g" requests different levels in a and b' in text


# Rule 9


def test_an_elastic_job_takes_no_level() -> None:
    job = {keys.ELASTIC: "true"}
    mistakes = elastic_mistakes(job, {keys.REQUIRED: RACK, keys.PREFERRED: RACK}, KUEUE)
    assert [mistake.field for mistake in mistakes] == [keys.REQUIRED, keys.PREFERRED]
    assert mistakes[0].text == "is not allowed in an elastic job"


def test_an_elastic_job_may_be_unconstrained_and_others_may_have_levels() -> None:
    assert elastic_mistakes({keys.ELASTIC: "true"}, {keys.UNCONSTRAINED: "true"}, KUEUE) == []
    assert elastic_mistakes({keys.ELASTIC: "false"}, {keys.REQUIRED: RACK}, KUEUE) == []
    off = Gates.profile("kueue", {"ElasticJobsViaWorkloadSlices": False})
    assert elastic_mistakes({keys.ELASTIC: "true"}, {keys.REQUIRED: RACK}, off) == []


# Requests of Workloads


def request(gates: Gates = KUEUE, **fields: Any) -> str:
    return said(request_mistakes(TopologyRequest(**fields), 8, gates))


def test_a_full_request_of_a_workload_is_fine() -> None:
    assert request(required=BLOCK, pod_set_slice_required_topology=RACK, pod_set_slice_size=4) == ""
    assert request(preferred=BLOCK, layers=[WireLayer(RACK, 4), WireLayer("kubernetes.io/hostname", 2)]) == ""
    assert request(unconstrained=True, pod_index_label="i" * 317, sub_group_count=0, pod_set_group_name="g") == ""


def test_a_workload_has_slice_level_and_slice_size_together() -> None:
    assert request(pod_set_slice_required_topology=RACK) == (
        "podSetSliceRequiredTopology: requires podSetSliceSize; add it"
    )
    assert request(pod_set_slice_size=4) == "podSetSliceSize: requires podSetSliceRequiredTopology; add it"


def test_without_its_gate_a_workload_may_have_half_a_slice() -> None:
    off = Gates.profile("kueue", {"TASValidateWorkloadSliceSize": False})
    assert request(off, pod_set_slice_required_topology=RACK) == ""
    assert request(off, pod_set_slice_size=4) == ""


def test_slices_of_a_workload_have_at_least_one_pod() -> None:
    assert "podSetSliceSize: is 0" in request(pod_set_slice_required_topology=RACK, pod_set_slice_size=0)
    assert "podsetSliceRequiredTopologyConstraints[0].size: is -1" in request(layers=[WireLayer(RACK, -1)])


def test_our_gates_hold_for_workloads_too() -> None:
    uneven: dict[str, Any] = {"pod_set_slice_required_topology": RACK, "pod_set_slice_size": 3}
    assert request(KUEUE, **uneven) == ""
    assert "8 pods do not divide into slices of 3; use 6 or 9 pods" in request(OURS, **uneven)
    assert "is not allowed for slices" in request(OURS, pod_set_slice_required_topology="auto", pod_set_slice_size=4)
    assert "is not allowed for slices" in request(OURS, layers=[WireLayer("auto", 4)])


@pytest.mark.parametrize(
    ("field", "name", "limit"),
    [
        ("required", "required", 63),
        ("preferred", "preferred", 63),
        ("pod_index_label", "podIndexLabel", 317),
        ("sub_group_index_label", "subGroupIndexLabel", 317),
        ("pod_set_group_name", "podSetGroupName", 256),
    ],
)
def test_texts_of_a_workload_have_limits(field: str, name: str, limit: int) -> None:
    assert request(KUEUE, **{field: "x" * limit}) == ""
    expected = f"{name}: has {limit + 1} characters; a Workload allows at most {limit}"
    assert request(KUEUE, **{field: "x" * (limit + 1)}) == expected


def test_layers_of_a_workload_have_limits() -> None:
    assert "has 64 characters" in request(layers=[WireLayer("x" * 64, 1)])
    assert "is not allowed for slices" in request(layers=[WireLayer("", 1)])
    assert "has 4 entries" in request(layers=[WireLayer(f"l{i}", 1) for i in range(4)])
    assert "has 64 characters" in request(pod_set_slice_required_topology="x" * 64, pod_set_slice_size=1)
    assert "subGroupCount: is -1" in request(sub_group_count=-1)
