"""Unknown fields survive any change around them."""

from __future__ import annotations

import copy
from typing import Any

from msgspec.structs import replace

from closeknit.dialects.core import WireToleration
from closeknit.dialects.kueue.objects import written
from closeknit.dialects.kueue.objects.cluster_queues import WireClusterQueue, WireSelector
from closeknit.dialects.kueue.objects.flavors import WireFlavor
from closeknit.dialects.kueue.objects.quotas import WireQuota
from closeknit.dialects.kueue.objects.tree import form, merged
from closeknit.dialects.kueue.objects.wire import FairSharing, convert
from closeknit.dialects.kueue.objects.workloads import WireWorkload

NEWS = {"news": {"deep": [{"er": 1}]}}


def queue() -> dict[str, Any]:
    def quota(name: str) -> dict[str, Any]:
        return {"name": name, "nominalQuota": 9, **NEWS}

    flavors = [{"name": name, "resources": [quota("cpu"), quota("memory")], **NEWS} for name in ("a", "b")]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "q", "managedFields": [{"manager": "kubectl"}], **NEWS},
        "spec": {
            "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": flavors, **NEWS}],
            "stopPolicy": "None",
            "preemption": {"withinClusterQueue": "Never", "borrowWithinCohort": None, **NEWS},
            **NEWS,
        },
        "status": {"conditions": [{"type": "Active", "status": "True", **NEWS}], **NEWS},
        **NEWS,
    }


def test_an_object_in_which_nothing_changed_is_written_as_it_was() -> None:
    raw = queue()
    assert written(raw, convert(raw, WireClusterQueue)) == queue()


def test_one_field_is_changed_and_nothing_else() -> None:
    raw = queue()
    wire = convert(raw, WireClusterQueue)
    got = written(raw, replace(wire, spec=replace(wire.spec, stop_policy="Hold")))
    want = queue()
    want["spec"]["stopPolicy"] = "Hold"
    assert got == want
    assert raw == queue()


def test_a_field_is_changed_in_the_depth_of_lists() -> None:
    raw = queue()
    wire = convert(raw, WireClusterQueue)
    (group,) = wire.spec.resource_groups
    flavor = group.flavors[1]
    cpu = replace(flavor.resources[0], nominal_quota="12", lending_limit="1")
    flavor = replace(flavor, resources=(cpu, flavor.resources[1]))
    # The same in another order: items are matched by name, not by position.
    group = replace(group, flavors=(flavor, group.flavors[0]))
    got = written(raw, replace(wire, spec=replace(wire.spec, resource_groups=(group,))))
    want = queue()
    first, second = want["spec"]["resourceGroups"][0]["flavors"]
    second["resources"][0] |= {"nominalQuota": "12", "lendingLimit": "1"}
    want["spec"]["resourceGroups"][0]["flavors"] = [second, first]
    assert got == want


def test_a_changed_item_without_a_key_is_replaced() -> None:
    before = [{"key": "a", "x": 1}, {"key": "b", "x": 1}]
    raw = [{**one, **NEWS} for one in before]
    after = [{"key": "b", "x": 1}, {"key": "a", "x": 2}]
    assert merged(raw, before, after) == [raw[1], after[1]]


def test_items_are_added_and_removed_by_name() -> None:
    raw = {"list": [{"name": "a", **NEWS}, {"name": "b", **NEWS}]}
    before = {"list": [{"name": "a"}, {"name": "b"}]}
    assert merged(raw, before, {"list": [{"name": "c", "x": 1}, {"name": "b", "x": 2}]}) == {
        "list": [{"name": "c", "x": 1}, {"name": "b", "x": 2, **NEWS}]
    }


def test_items_that_were_never_ours_stay() -> None:
    raw = {"list": [{"name": "theirs"}, {"name": "ours", **NEWS}]}
    before = {"list": [{"name": "ours"}]}
    assert merged(raw, before, {"list": [{"name": "ours", "x": 1}]})["list"] == [
        {"name": "ours", "x": 1, **NEWS},
        {"name": "theirs"},
    ]
    assert merged(raw, before, {}) == {"list": [{"name": "theirs"}]}
    assert merged({"list": raw["list"][1:]}, before, {}) == {}


def test_conditions_are_matched_by_type_and_evictions_by_reason_and_cause() -> None:
    raw = [{"type": "A", "status": "True", **NEWS}]
    assert merged(raw, [{"type": "A", "status": "True"}], [{"type": "A", "status": "False"}]) == [
        {"type": "A", "status": "False", **NEWS}
    ]
    causes = [{"reason": "R", "underlyingCause": cause, "count": 1} for cause in ("", "C")]
    more = [causes[0], {**causes[1], "count": 2}]
    assert merged([{**one, **NEWS} for one in causes], causes, more) == [{**one, **NEWS} for one in more]


def test_items_without_a_name_are_kept_where_an_equal_one_is_wanted() -> None:
    raw = {"spec": {"tolerations": [{"key": "a", "tolerationSeconds": 3}, {"key": "b", **NEWS}]}}
    wire = convert(raw, WireFlavor)
    wanted = (WireToleration(key="c"), wire.spec.tolerations[1])
    got = written(raw, replace(wire, spec=replace(wire.spec, tolerations=wanted)))
    assert got == {"spec": {"tolerations": [{"key": "c"}, {"key": "b", **NEWS}]}}


def test_a_part_that_was_absent_is_added_without_what_is_empty() -> None:
    raw = queue()
    wire = convert(raw, WireClusterQueue)
    spec = replace(wire.spec, fair_sharing=FairSharing("2"), namespace_selector=WireSelector())
    got = written(raw, replace(wire, spec=spec))
    assert got["spec"] == {**queue()["spec"], "fairSharing": {"weight": "2"}, "namespaceSelector": {}}


def test_a_removed_struct_is_removed_with_all_its_fields() -> None:
    raw = {"spec": {"fairSharing": {"weight": "2", **NEWS}, **NEWS}, **NEWS}
    wire = convert(raw, WireClusterQueue)
    got = written(raw, replace(wire, spec=replace(wire.spec, fair_sharing=None)))
    assert got == {"spec": NEWS, **NEWS}


def test_labels_are_changed_key_by_key() -> None:
    raw = {"spec": {"nodeLabels": {"a": "1", "b": "2"}}}
    wire = convert(raw, WireFlavor)
    got = written(raw, replace(wire, spec=replace(wire.spec, node_labels={"b": "3", "c": "4"})))
    assert got == {"spec": {"nodeLabels": {"b": "3", "c": "4"}}}
    assert written(raw, replace(wire, spec=replace(wire.spec, node_labels={}))) == {"spec": {}}


def test_a_pod_template_is_left_alone_down_to_its_last_field() -> None:
    template = {"metadata": {"creationTimestamp": None}, "spec": {"containers": [{"name": "c", **NEWS}], **NEWS}}
    raw = {"spec": {"podSets": [{"name": "a", "count": 4, "template": template, **NEWS}]}}
    before = copy.deepcopy(raw)
    wire = convert(raw, WireWorkload)
    sets = (replace(wire.spec.pod_sets[0], count=3),)
    got = written(raw, replace(wire, spec=replace(wire.spec, pod_sets=sets)))
    assert got == {"spec": {"podSets": [{"name": "a", "count": 3, "template": template, **NEWS}]}}
    assert raw == before


def test_zero_is_written_and_none_is_not() -> None:
    assert form(WireQuota("cpu", 0)) == {"name": "cpu", "nominalQuota": 0}
    assert form(WireQuota("cpu", 0, borrowing_limit=0)) == {"name": "cpu", "nominalQuota": 0, "borrowingLimit": 0}
