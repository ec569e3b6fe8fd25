"""The annotation with which pods ask to be aligned on NUMA zones."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.group_pods import read_pods
from closeknit.dialects.kueue.jobs.kinds.pod import template_of
from closeknit.dialects.kueue.objects.pod_sets import WirePodSet, asked
from closeknit.dialects.numa_policy import own_policy, policy_mistakes
from closeknit.dialects.pod_template import read_template
from closeknit.model.gates import Gates
from closeknit.numa.demand import PodDemand

KEY = "closeknit.dev/numa-policy"
ON = Gates.profile()


def template(policy: str) -> dict[str, Any]:
    container = {"name": "main", "image": "example", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}
    return {"metadata": {"name": "a", "annotations": {KEY: policy}}, "spec": {"containers": [container]}}


@pytest.mark.parametrize("policy", ["single-numa-node", "restricted"])
def test_the_policy_is_part_of_the_shape_and_of_what_is_asked_of_a_kubelet(policy: str) -> None:
    shape, other = (read_template(Field.root(template(one))) for one in (policy, "none"))
    assert shape is not None
    assert other is not None
    assert (shape.numa_policy, other.numa_policy) == (policy, None)
    assert (shape, hash(shape)) != (other, hash(other))
    assert shape.plain == other.plain
    assert PodDemand.of_shape(shape).policy == policy
    assert PodDemand.of_shape(shape).of_kubelet == PodDemand.of_shape(other)


def test_a_workload_carries_the_policy_in_its_template() -> None:
    sets = [WirePodSet(name, 1, template=template(one)) for name, one in (("a", "restricted"), ("b", "no"))]
    request, _ = asked(sets, is_old=False)
    assert [one.shape.numa_policy for one in request.pod_sets] == ["restricted", None]


def test_the_template_of_a_bare_pod_keeps_the_policy_and_no_other_annotation() -> None:
    pod = template("restricted")
    pod["metadata"]["annotations"]["example.com/other"] = "x"
    assert template_of(pod) == {"metadata": {"annotations": {KEY: "restricted"}}, "spec": pod["spec"]}
    assert template_of({"spec": pod["spec"]}) == {"spec": pod["spec"]}


def test_pods_of_groups_of_other_dialects_are_read_alike() -> None:
    good, bad = Field.root(template("single-numa-node")), Field.root(template("single"))
    assert [one.shape.numa_policy for one in read_pods([good, bad])] == ["single-numa-node", None]
    assert good.report.mistakes == ()
    (found,) = bad.report.mistakes
    assert str(found).endswith('is "single"; use single-numa-node or restricted, or remove it')


@pytest.mark.parametrize("value", ["best-effort", "none", "", "Restricted"])
def test_a_bad_value_is_named_with_the_remedy_and_counts_as_absent(value: str) -> None:
    (found,) = policy_mistakes({KEY: value}, ON, "notes")
    assert found.field == f"notes[{KEY}]"
    assert f'is "{value}"; use single-numa-node or restricted, or remove it' in str(found)
    assert own_policy({KEY: value}) is None


def test_nothing_is_wrong_while_zones_do_not_count() -> None:
    assert policy_mistakes({KEY: "x"}, Gates.profile("kueue")) == []
    assert policy_mistakes({KEY: "x"}, ON.changed({"NumaZones": False})) == []
    assert policy_mistakes({}, ON) == []
