"""RayClusters and RayJobs: a head, groups of workers, and for a job a submitter."""

from __future__ import annotations

from ....dialects.field import INT32_MAX, Field
from .causes import Causes
from .crd_defaults import filler
from .names import at_most, host_label
from .pod_checks import check_template
from .rule import KindRule, unexchanged

MANAGERS = ("ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue")
MODES = ("K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode")

_WORKERS = {"replicas": 0, "minReplicas": 0, "maxReplicas": INT32_MAX, "numOfHosts": 1}
_fill_cluster = filler({f"spec.workerGroupSpecs[].{key}": value for key, value in _WORKERS.items()})
_fill_job = filler(
    {
        "spec.backoffLimit": 0,
        "spec.submissionMode": "K8sJobMode",
        "spec.ttlSecondsAfterFinished": 0,
        **{f"spec.rayClusterSpec.workerGroupSpecs[].{key}": value for key, value in _WORKERS.items()},
    }
)


def _check_cluster_spec(spec: Field, causes: Causes) -> None:
    head = spec.at("headGroupSpec")
    if not head.given:
        causes.required(head)
    elif not head.at("template").given:
        causes.required(head.at("template"))
    else:
        check_template(head.at("template"), causes, filled=False)
    names: set[str] = set()
    for group in spec.at("workerGroupSpecs").items():
        name = group.at("groupName")
        if not name.text():
            causes.required(name)
        elif name.text() in names:
            causes.duplicate(name)
        names.add(name.text())
        for key in ("replicas", "minReplicas", "maxReplicas", "numOfHosts"):
            causes.at_least(group.at(key), 0)
        check_template(group.at("template"), causes, filled=False)
    _check_manager(spec.at("managedBy"), causes)


def _check_manager(manager: Field, causes: Causes) -> None:
    if manager.given and manager.text() not in MANAGERS:
        causes.invalid(manager, f"must be one of {', '.join(MANAGERS)}")


def _check_cluster(raw: Field, causes: Causes) -> None:
    _check_cluster_spec(raw.at("spec"), causes)


def _check_job(raw: Field, causes: Causes) -> None:
    spec = raw.at("spec")
    causes.at_least(spec.at("ttlSecondsAfterFinished"), 0)
    causes.at_least(spec.at("backoffLimit"), 0)
    causes.one_of(spec.at("submissionMode"), MODES, needed=False)
    _check_manager(spec.at("managedBy"), causes)
    if spec.at("clusterSelector").value:
        return
    if not spec.at("rayClusterSpec").given:
        causes.required(spec.at("rayClusterSpec"), "or give a clusterSelector")
    else:
        _check_cluster_spec(spec.at("rayClusterSpec"), causes)
    if spec.at("submitterPodTemplate").given:
        check_template(spec.at("submitterPodTemplate"), causes, filled=False)


def _check_change(old: Field, new: Field, causes: Causes) -> None:
    unexchanged(old.at("spec"), new.at("spec"), causes, "managedBy")


RAY_CLUSTER_RULE = KindRule(_fill_cluster, check=_check_cluster, change=_check_change, name=at_most(50, host_label))
RAY_JOB_RULE = KindRule(_fill_job, check=_check_job, change=_check_change, name=at_most(47, host_label))
