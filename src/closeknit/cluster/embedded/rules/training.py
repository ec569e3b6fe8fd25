"""MPIJob, PyTorchJob, TrainJob and its runtimes: training jobs with a template for each role."""

from __future__ import annotations

from ....dialects.field import Field
from ....dialects.kueue.jobs.kinds.training import TRAINING_JOBS
from ...errors import Cause
from ...kinds import CLUSTER_TRAINING_RUNTIME, TRAIN_JOB, TRAINING_RUNTIME
from ...port import Raw
from .causes import Causes, entries, invalid
from .crd_defaults import filler
from .names import host_label
from .pod_checks import check_template
from .rule import KindRule, Making, unchanged, unexchanged

MANAGERS = ("trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue")
_FIXED = ("activeDeadlineSeconds", "initializer", "managedBy", "runtimeRef", "trainer")

_fill_mpi_job = filler(
    {
        "spec.launcherCreationPolicy": "AtStartup",
        "spec.mpiImplementation": "OpenMPI",
        "spec.runLauncherAsWorker": False,
        "spec.slotsPerWorker": 1,
        "spec.sshAuthMountPath": "/root/.ssh",
        "spec.runPolicy.suspend": False,
    }
)
_fill_pytorch_job = filler({"spec.runPolicy.suspend": False})
_fill_train_job = filler(
    {
        "spec.managedBy": MANAGERS[0],
        "spec.suspend": False,
        "spec.runtimeRef.apiGroup": "trainer.kubeflow.org",
        "spec.runtimeRef.kind": "ClusterTrainingRuntime",
    }
)
_fill_runtime = filler(
    {
        "spec.template.spec.replicatedJobs[].replicas": 1,
        "spec.template.spec.replicatedJobs[].groupName": "default",
        "spec.template.spec.failurePolicy.restartStrategy": "Recreate",
    }
)


def _check_roles(raw: Field, kind: str, causes: Causes) -> None:
    key, types = TRAINING_JOBS[kind]
    specs = raw.at("spec", key)
    if not specs.value:
        causes.required(specs)
    for name, role in entries(specs).items():
        if name not in types:
            causes.unsupported(Field(name, role.path, role.report), types)
        causes.at_least(role.at("replicas"), 0)
        check_template(role.at("template"), causes, filled=False)


def _check_mpi_job(raw: Field, causes: Causes) -> None:
    _check_roles(raw, "MPIJob", causes)


def _check_pytorch_job(raw: Field, causes: Causes) -> None:
    _check_roles(raw, "PyTorchJob", causes)
    specs = raw.at("spec", "pytorchReplicaSpecs")
    for role in entries(specs).values():
        names = [one.at("name").text() for one in role.at("template", "spec", "containers").items()]
        if names and "pytorch" not in names:
            causes.required(role.at("template", "spec", "containers"), "one container must be named pytorch")
    masters = specs.at("Master", "replicas")
    if masters.value not in (None, 1):
        causes.invalid(masters, "must be 1")


def _check_pytorch_change(old: Field, new: Field, causes: Causes) -> None:
    before, after = old.at("spec", "runPolicy"), new.at("spec", "runPolicy")
    unchanged(before, after, causes, "managedBy")
    unexchanged(before.at("schedulingPolicy"), after.at("schedulingPolicy"), causes, "queue")


def _begun_train_job(making: Making, raw: Raw) -> Raw:
    """Check at creation that the runtime exists."""
    reference = (raw.get("spec") or {}).get("runtimeRef") or {}
    kind, namespace = CLUSTER_TRAINING_RUNTIME, ""
    if reference.get("kind") == TRAINING_RUNTIME.kind:
        kind, namespace = TRAINING_RUNTIME, raw["metadata"]["namespace"]
    name = str(reference.get("name") or "")
    if not making.trusted and name and making.store.find(kind, namespace, name) is None:
        cause = Cause("spec.runtimeRef", f"Invalid value: {name}: create the {kind.kind} before the TrainJob")
        raise invalid(TRAIN_JOB, raw["metadata"]["name"], [cause])
    return raw


def _check_train_job(raw: Field, causes: Causes) -> None:
    spec = raw.at("spec")
    if not spec.at("runtimeRef", "name").text():
        causes.required(spec.at("runtimeRef", "name"))
    if spec.at("managedBy").given and spec.at("managedBy").text() not in MANAGERS:
        causes.invalid(spec.at("managedBy"), f"must be one of {', '.join(MANAGERS)}")
    causes.at_least(spec.at("activeDeadlineSeconds"), 1)
    causes.at_least(spec.at("trainer", "numNodes"), 1)
    seen: set[str] = set()
    for patch in spec.at("runtimePatches").items():
        manager = patch.at("manager")
        if not manager.text():
            causes.required(manager)
        elif manager.text() in seen:
            causes.duplicate(manager)
        seen.add(manager.text())


def _check_train_change(old: Field, new: Field, causes: Causes) -> None:
    """Check that runtimePatches, which other controllers add, change only while the job is suspended."""
    before, after = old.at("spec"), new.at("spec")
    unexchanged(before, after, causes, *_FIXED)
    held = before.at("suspend").value is True or after.at("suspend").value is True
    if before.at("runtimePatches").value != after.at("runtimePatches").value and not held:
        causes.forbidden(after.at("runtimePatches"), "may change only while the TrainJob is suspended")


MPI_JOB_RULE = KindRule(_fill_mpi_job, check=_check_mpi_job)
PYTORCH_JOB_RULE = KindRule(_fill_pytorch_job, check=_check_pytorch_job, change=_check_pytorch_change, name=host_label)
TRAIN_JOB_RULE = KindRule(
    _fill_train_job, _begun_train_job, check=_check_train_job, change=_check_train_change, name=host_label
)
RUNTIME_RULE = KindRule(_fill_runtime)
