from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.pod_template import read_shape
from closeknit.model.container import Container, Needs
from closeknit.model.shape import Requirement, Shape, Term, Toleration


def container(**resources: Any) -> dict[str, Any]:
    return {"name": "main", "resources": resources}


def read(spec: Any) -> tuple[Shape | None, list[str]]:
    field = Field.root({"spec": spec})
    return read_shape(field.at("spec")), [str(mistake) for mistake in field.report.mistakes]


def test_requests_and_missing_requests_from_limits_make_the_shape() -> None:
    shape, mistakes = read({"containers": [container(requests={"cpu": "1"}, limits={"cpu": 2, "memory": "1Gi"})]})
    assert mistakes == []
    asked, bound = {"cpu": 1000, "memory": 2**30}, {"cpu": 2000, "memory": 2**30}
    assert shape == Shape.of(asked, containers=(Container.of(asked, bound),))


def test_containers_sidecars_and_overhead_add_up() -> None:
    shape, _ = read(
        {
            "containers": [container(requests={"cpu": 1}), container(requests={"cpu": 0.5})],
            "initContainers": [{**container(requests={"cpu": "100m"}), "restartPolicy": "Always"}],
            "overhead": {"cpu": "50m"},
        }
    )
    containers = (
        Container.of({"cpu": 100}, kind="sidecar"),
        Container.of({"cpu": 1000}),
        Container.of({"cpu": 500}),
    )
    assert shape == Shape.of({"cpu": 1650}, containers=containers, overhead={"cpu": 50})


def test_pod_level_resources_are_part_of_the_shape() -> None:
    shape, _ = read({"containers": [container(requests={"cpu": 1})], "resources": {"limits": {"cpu": 2}}})
    stated = Needs((("cpu", 2000),), (("cpu", 2000),))
    assert shape == Shape.of({"cpu": 2000}, containers=(Container.of({"cpu": 1000}),), pod_level=stated)


def test_selectors_tolerations_and_affinity_are_part_of_the_shape() -> None:
    term = {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["h100"]}]}
    shape, mistakes = read(
        {
            "containers": [container()],
            "nodeSelector": {"pool": "a"},
            "tolerations": [{"operator": "Exists"}],
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
            },
        }
    )
    assert mistakes == []
    required = (Term((Requirement("gpu", "In", ("h100",)),)),)
    assert shape == Shape.of({}, {"pool": "a"}, (Toleration("", "Exists"),), required, containers=(Container(),))


@pytest.mark.parametrize("spec", [None, {}, {"containers": []}, {"containers": None}])
def test_a_pod_without_containers_is_refused(spec: Any) -> None:
    assert read(spec) == (None, ["spec.containers: is missing; add at least one container"])


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        ("-1", "is -1; use a quantity that is not negative"),
        ("-1m", "is -1m; use a quantity that is not negative"),
        (-2, "is -2; use a quantity that is not negative"),
        ("1e30", 'is "1e30", more than any machine has; use a quantity such as 500m, 2 or 1.5Gi'),
        ("7Pi", None),
        (10**19, "is 10000000000000000000, more than any machine has; use a quantity such as 500m, 2 or 1.5Gi"),
        (True, "is true, not a quantity; use a quantity such as 500m, 2 or 1.5Gi"),
        (None, "is null, not a quantity; use a quantity such as 500m, 2 or 1.5Gi"),
        ([], "is a list, not a quantity; use a quantity such as 500m, 2 or 1.5Gi"),
        (float("nan"), '"nan" is not a quantity: write a number and a suffix such as 500m, 2, 1.5Gi'),
        ("much", '"much" is not a quantity: write a number and a suffix such as 500m, 2, 1.5Gi'),
        ("9" * 5000, 'is "' + "9" * 57 + '...", not a quantity; use a quantity such as 500m, 2 or 1.5Gi'),
    ],
)
def test_quantities_are_checked_one_by_one(quantity: Any, text: str | None) -> None:
    shape, mistakes = read({"containers": [container(requests={"memory": quantity})]})
    assert mistakes == ([] if text is None else [f"spec.containers[0].resources.requests.memory: {text}"])
    assert (shape is None) == (text is not None)


def test_cpu_is_bounded_in_milli_units() -> None:
    assert read({"containers": [container(requests={"cpu": "9Pi"})]})[1] == [
        'spec.containers[0].resources.requests.cpu: is "9Pi", more than any machine has; '
        "use a quantity such as 500m, 2 or 1.5Gi"
    ]


def test_every_bad_quantity_of_a_pod_is_reported() -> None:
    _, mistakes = read(
        {
            "containers": [container(requests={"cpu": "x"}), container(limits={"nvidia.com/gpu": "-1"})],
            "initContainers": [container(requests={"memory": "1 Gi"})],
            "resources": {"requests": {"cpu": "y"}},
            "overhead": {"cpu": "z"},
        }
    )
    assert [mistake.split(": ")[0] for mistake in mistakes] == [
        "spec.containers[0].resources.requests.cpu",
        "spec.containers[1].resources.limits[nvidia.com/gpu]",
        "spec.initContainers[0].resources.requests.memory",
        "spec.resources.requests.cpu",
        "spec.overhead.cpu",
    ]


@pytest.mark.parametrize("kind", ["requests", "limits"])
def test_a_resource_named_pods_is_refused(kind: str) -> None:
    assert read({"containers": [container(**{kind: {"pods": 1}})]})[1] == [
        f"spec.containers[0].resources.{kind}.pods: is counted by the node itself, one per pod; remove it"
    ]


def test_a_request_above_its_limit_is_refused() -> None:
    assert read({"containers": [container(requests={"cpu": 2}, limits={"cpu": "1500m"})]})[1] == [
        "spec.containers[0].resources.requests.cpu: is 2, more than its limit of 1500m; "
        "raise the limit or lower the request"
    ]


@pytest.mark.parametrize(
    ("extra", "text"),
    [
        ({"nodeSelector": {"a": 1}}, 'spec.nodeSelector.a: is 1, not a string; put it in quotes: "1"'),
        ({"tolerations": {}}, "spec.tolerations: is a mapping, not a list; use a list"),
        ({"affinity": []}, "spec.affinity: is a list, not a mapping; use a mapping"),
        ({"nodeName": 5}, "spec.nodeName: expected str, got int; put the value in quotes"),
    ],
)
def test_wrong_types_anywhere_in_the_spec_are_reported(extra: dict[str, Any], text: str) -> None:
    assert read({"containers": [container()], **extra}) == (None, [text])


def test_containers_that_are_no_list_are_one_mistake() -> None:
    assert read({"containers": {}})[1] == ["spec.containers: is a mapping, not a list; use a list"]
    assert read({"containers": ["x"]})[1] == ['spec.containers[0]: is "x", not a mapping; use a mapping']


@pytest.mark.parametrize("amount", ["0.5", 0.5, "1m", "1500m", "1n"])
@pytest.mark.parametrize("kind", ["requests", "limits"])
def test_extended_resources_come_in_whole_units(amount: Any, kind: str) -> None:
    _, mistakes = read({"containers": [container(**{kind: {"nvidia.com/gpu": amount}})]})
    (text,) = mistakes
    assert text.startswith(f"spec.containers[0].resources.{kind}[nvidia.com/gpu]: is {amount}, not a whole number; ")
    assert text.endswith(f"nvidia.com/gpu comes in whole units: use {2 if amount == '1500m' else 1}")


@pytest.mark.parametrize(
    "requests",
    [
        {"cpu": "0.5", "memory": "0.5"},
        {"nvidia.com/gpu": "2000m", "example.com/nic": "1k"},
        {"kubernetes.io/batch-cpu": "0.5"},
    ],
)
def test_resources_of_kubernetes_and_whole_units_in_any_form_are_accepted(requests: dict[str, Any]) -> None:
    assert read({"containers": [container(requests=requests)]})[1] == []


@pytest.mark.parametrize("name", ["", "nvidia.com/", "/gpu", "nvidia.com/gpu:", "nvidia.com/ gpu", "my gpu", "a/b/c"])
def test_a_name_that_no_resource_can_have_is_refused(name: str) -> None:
    (text,) = read({"containers": [container(limits={name: 1})]})[1]
    assert text.endswith(f'"{name}" is not the name of a resource; write one such as cpu or nvidia.com/gpu')


def warned(spec: Any) -> list[str]:
    field = Field.root({"spec": spec})
    assert read_shape(field.at("spec")) is not None
    return [str(warning) for warning in field.report.warnings]


@pytest.mark.parametrize(
    ("name", "meant"), [("memroy", "memory"), ("cpus", "cpu"), ("gpu", "nvidia.com/gpu"), ("tpu", "google.com/tpu")]
)
def test_a_resource_that_containers_do_not_have_is_warned_about(name: str, meant: str) -> None:
    assert warned({"containers": [container(requests={name: 1})]}) == [
        f"spec.containers[0].resources.requests.{name}: is not a resource of containers; did you mean {meant}? "
        "use cpu, memory, ephemeral-storage or a name with a domain, such as nvidia.com/gpu"
    ]


def test_resources_that_containers_have_are_not_warned_about() -> None:
    needs = {"cpu": 1, "memory": "1Gi", "ephemeral-storage": "1Gi", "hugepages-2Mi": "4Mi", "nvidia.com/gpu": 1}
    assert warned({"containers": [container(requests=needs, limits=needs, claims=[])]}) == []


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"containers": [container(request={"cpu": 1})]}, "containers[0].resources.request: {}requests?"),
        ({"containers": [{"resource": {}}]}, "containers[0].resource: {}resources?"),
        ({"containers": [container()], "nodeselector": {}}, "nodeselector: {}nodeSelector?"),
        ({"containers": [container()], "toleration": []}, "toleration: {}tolerations?"),
    ],
)
def test_a_misspelt_field_is_warned_about(spec: Any, text: str) -> None:
    assert warned(spec) == ["spec." + text.format("is not a known field; did you mean ")]


@pytest.mark.parametrize("name", ["nvidia.com/gpus", "nvidia.com/GPU", "nvidia.con/gpu", "nvida.com/gpu"])
def test_a_misspelt_common_device_is_warned_of(name: str) -> None:
    field = Field.root({"spec": {"containers": [container(limits={name: 1})]}})
    read_shape(field.at("spec"))
    assert [one.remedy for one in field.report.warnings] == ["did you mean nvidia.com/gpu?"]


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "intel.com/gpu"])
def test_other_names_of_devices_cause_no_warning(name: str) -> None:
    field = Field.root({"spec": {"containers": [container(limits={name: 1})]}})
    read_shape(field.at("spec"))
    assert field.report.warnings == ()
