"""AppWrapper: pod sets at the paths that components declare, with the infos of started pods beside them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from closeknit.dialects.kueue.jobs import requests
from closeknit.dialects.kueue.jobs.injection import Info, StartConflict
from closeknit.dialects.kueue.jobs.kinds import LIVE, Finished
from closeknit.dialects.kueue.jobs.starting import as_submitted, started
from closeknit.dialects.kueue.objects.wire import Unreadable
from closeknit.model.gates import Gates
from closeknit.model.mistake import InputError
from closeknit.model.request import Ranks
from closeknit.model.shape import Toleration

AW = LIVE["workload.codeflare.dev", "AppWrapper"]
HINT = "workload.codeflare.dev.appwrapper/tas-"
Raw = dict[str, Any]


def pods(cpu: str = "1", **spec: Any) -> Raw:
    return {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}], **spec}}


def job(**spec: Any) -> Raw:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": pods(), **spec}}


def wrapper(*components: Raw, **status: Any) -> Raw:
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": "aw", "namespace": "default", "uid": "u"},
        "spec": {"suspend": True, "components": list(components)},
        "status": status,
    }


def sets(raw: Raw) -> list[tuple[str, int]]:
    return [(one.name, one.count) for one in AW.pod_sets(raw)]


def test_pod_sets_are_numbered_over_all_components() -> None:
    declared = {"podSets": [{"replicas": 2, "path": "template.spec.template"}], "template": job()}
    assert sets(wrapper(declared, {"template": job(parallelism=3)})) == [("aw-0", 2), ("aw-1", 3)]


def test_a_path_may_go_through_lists() -> None:
    ray = {"spec": {"groups": [{"template": pods("1")}, {"template": pods("7")}]}}
    declared = {"podSets": [{"path": "template.spec.groups[1].template"}], "template": ray}
    [one] = AW.pod_sets(wrapper(declared))
    assert (one.name, one.count, one.template) == ("aw-0", 1, pods("7"))


@pytest.mark.parametrize(
    ("template", "found"),
    [
        (job(parallelism=4, completions=2), [2]),
        ({"apiVersion": "v1", "kind": "Pod", **pods()}, [1]),
        ({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 3, "template": pods()}}, [3]),
        ({"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"template": pods()}}, [1]),
        (
            {
                "apiVersion": "jobset.x-k8s.io/v1alpha2",
                "kind": "JobSet",
                "spec": {"replicatedJobs": [{"name": "a", "replicas": 2, "template": {"spec": {"template": pods()}}}]},
            },
            [2],
        ),
        (
            {
                "apiVersion": "ray.io/v1",
                "kind": "RayJob",
                "spec": {
                    "rayClusterSpec": {
                        "headGroupSpec": {"template": pods()},
                        "workerGroupSpecs": [{"groupName": "w", "replicas": 5, "template": pods()}],
                    }
                },
            },
            [1, 5],
        ),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, []),
        ({"apiVersion": "example.com/v1", "kind": "Job"}, []),
    ],
    ids=["Job", "Pod", "Deployment", "StatefulSet", "JobSet", "RayJob", "ConfigMap", "another Job"],
)
def test_pod_sets_of_common_kinds_need_not_be_declared(template: Raw, found: list[int]) -> None:
    assert [count for _, count in sets(wrapper({"template": template}))] == found


def test_ranks_are_read_from_annotations() -> None:
    notes = {f"{HINT}pod-index-label": "i", f"{HINT}sub-group-index-label": "g", f"{HINT}sub-group-count": "2"}
    declared = {"podSets": [{"path": "template.spec.template", "annotations": notes}], "template": job()}
    [one] = AW.pod_sets(wrapper(declared))
    assert one.ranks == Ranks("i", "g", 2)


@pytest.mark.parametrize("path", ["spec.template", "template.spec.nothing", "template.spec[3]", "template..spec"])
def test_a_path_to_no_template_is_refused(path: str) -> None:
    raw = wrapper({"podSets": [{"path": path}], "template": job()})
    with pytest.raises(Unreadable, match="path"):
        AW.pod_sets(raw)
    with pytest.raises(InputError) as refused:
        requests([("f.yaml", raw)], Gates.profile("kueue"))
    assert "spec.components[0].podSets[0].path" in str(refused.value)


def test_it_is_placed_from_a_file() -> None:
    [found] = requests([("f.yaml", wrapper({"template": job(parallelism=3)}))], Gates.profile("kueue")).jobs
    assert (found.kind, found.order) == ("AppWrapper", ("aw-0",))


INFO = Info(
    "aw-0", 3, {"l": "1"}, {"a": "2"}, {"pool": "gpu"}, (Toleration("gpu", "Exists", "", ""),), ("example.com/gate",)
)


def test_infos_are_set_beside_the_templates_and_removed_again() -> None:
    raw = wrapper({"template": job(parallelism=3)}, {"template": {"apiVersion": "v1", "kind": "ConfigMap"}})
    before = deepcopy(raw)
    running = started(AW, raw, [INFO])
    assert isinstance(running, dict)
    assert running["spec"]["suspend"] is False
    assert [one.get("podSetInfos") for one in running["spec"]["components"]] == [
        [
            {
                "annotations": {"a": "2"},
                "labels": {"l": "1"},
                "nodeSelector": {"pool": "gpu"},
                "tolerations": [{"key": "gpu", "operator": "Exists"}],
                "schedulingGates": [{"name": "example.com/gate"}],
            }
        ],
        None,
    ]
    assert as_submitted(AW, AW.suspended(running, True), {"spec": {"podSets": []}}) == before
    assert raw == before


def test_a_conflict_with_a_template_is_reported() -> None:
    raw = wrapper({"template": job(template=pods(nodeSelector={"pool": "cpu"}))})
    assert isinstance(started(AW, raw, [INFO]), StartConflict)


def test_the_phase_tells_how_it_ended() -> None:
    assert AW.finished(wrapper(phase="Running")) is None
    assert AW.finished(wrapper(phase="Succeeded")) == Finished(True, "AppWrapper finished successfully")
    assert AW.finished(wrapper(phase="Failed")) == Finished(False, "AppWrapper failed")
    deployed = [{"type": "ResourcesDeployed", "status": "True"}]
    assert AW.finished(wrapper(phase="Failed", conditions=deployed)) is None


def test_conditions_tell_whether_it_is_active_and_ready() -> None:
    raw = wrapper(conditions=[{"type": "QuotaReserved", "status": "True"}, {"type": "PodsReady", "status": "False"}])
    assert (AW.is_active(raw), AW.pods_ready(raw)) == (True, False)
