from __future__ import annotations

import copy
from typing import Any

from closeknit.dialects.limits import adjusted, limit_ranges, runtime_class
from closeknit.model.limit_range import LimitRange


def pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"resources": c} for c in containers], **spec}}


def needs(template: dict[str, Any]) -> list[Any]:
    return [container.get("resources") for container in template["spec"]["containers"]]


def test_ranges_of_containers_and_pods_are_read_and_those_of_claims_are_not() -> None:
    raw = {
        "spec": {
            "limits": [
                {
                    "type": "Container",
                    "min": {"cpu": "100m"},
                    "max": {"cpu": "2"},
                    "default": {"memory": "1Gi"},
                    "defaultRequest": {"memory": "1Mi"},
                },
                {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}},
                {"type": "Pod", "max": {"cpu": "4"}, "min": None},
            ]
        }
    }
    assert limit_ranges(raw) == (
        LimitRange("Container", {"cpu": 100}, {"cpu": 2000}, {"memory": 2**30}, {"memory": 2**20}),
        LimitRange("Pod", max={"cpu": 4000}),
    )
    assert limit_ranges({"spec": None}) == ()


def test_a_runtime_class_costs_its_overhead() -> None:
    raw = {"metadata": {"name": "kata"}, "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}}}
    assert runtime_class(raw) == ("kata", {"cpu": 250, "memory": 120 * 2**20})
    assert runtime_class({"metadata": {"name": "runc"}, "overhead": None}) == ("runc", {})


def test_overhead_is_that_of_the_class_unless_the_pod_has_its_own() -> None:
    classes = {"kata": {"cpu": 250}}
    assert adjusted(pod(runtimeClassName="kata"), [], classes)["spec"]["overhead"] == {"cpu": "250m"}
    own = pod(runtimeClassName="kata", overhead={"cpu": "1"})
    assert adjusted(own, [], classes)["spec"]["overhead"] == {"cpu": "1"}
    assert "overhead" not in adjusted(pod(runtimeClassName="other"), [], classes)["spec"]
    assert "overhead" not in adjusted(pod(), [], classes)["spec"]


def test_defaults_fill_the_missing_fields_of_a_container() -> None:
    ranges = [LimitRange("Container", default={"cpu": 2000, "memory": 2**30}, default_request={"cpu": 500})]
    template = pod({"requests": {"cpu": "1"}}, {"limits": {"cpu": "3"}})
    assert needs(adjusted(template, ranges, {})) == [
        {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}},
        {"limits": {"cpu": "3", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}},
    ]


def test_of_several_ranges_the_first_default_counts() -> None:
    ranges = [
        LimitRange("Container", default_request={"cpu": 500}),
        LimitRange("Container", default_request={"cpu": 1}),
    ]
    assert needs(adjusted(pod({}), ranges, {})) == [{"requests": {"cpu": "500m"}}]


def test_init_containers_have_the_same_defaults() -> None:
    ranges = [LimitRange("Container", default_request={"cpu": 500})]
    template = pod(initContainers=[{"name": "i"}])
    want = [{"name": "i", "resources": {"requests": {"cpu": "500m"}}}]
    assert adjusted(template, ranges, {})["spec"]["initContainers"] == want


def test_a_limit_is_the_default_request() -> None:
    template = pod({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}, "claims": [{"name": "x"}]})
    assert needs(adjusted(template, [], {})) == [
        {
            "limits": {"cpu": "1", "memory": "1Gi"},
            "requests": {"cpu": "500m", "memory": "1Gi"},
            "claims": [{"name": "x"}],
        }
    ]


def test_defaults_of_type_pod_apply_only_to_pod_level_resources() -> None:
    ranges = [LimitRange("Pod", default={"memory": 2**30})]
    assert "resources" not in adjusted(pod({}), ranges, {})["spec"]
    whole = adjusted(pod({}, resources={"requests": {"cpu": "1"}}), ranges, {})
    assert whole["spec"]["resources"] == {"limits": {"memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}
    assert needs(whole) == [{}]


def test_the_given_template_is_not_changed() -> None:
    template = pod({"limits": {"cpu": "1"}}, runtimeClassName="kata", resources={"limits": {"cpu": "1"}})
    before = copy.deepcopy(template)
    ranges = [LimitRange("Container", default={"memory": 1}), LimitRange("Pod", default={"memory": 1})]
    assert adjusted(template, ranges, {"kata": {"cpu": 1}}) != before
    assert template == before


def test_a_template_without_a_spec_gets_an_empty_one() -> None:
    assert adjusted({"spec": None}, [], {}) == {"spec": {}}
