"""Kubeflow's training jobs, including MPIJob: replicas by type, each type with a template of its own.

They differ only in the field that holds the replicas and in the replica types, which is one table. Some kinds are only
placed from files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .....model.request import Ranks
from .... import cel
from .... import known_fields as known
from ....cel import ANNOTATIONS
from ....field import Field
from ....served import Kind
from ... import keys
from .. import marks
from ..integration import Counts, Integration, Templates, ended
from ..job_kind import AGE, ALL_RULES, STATE, AdmissionHold, Offset
from ..raw import Raw, at, condition, mapping, number, put
from ..roles import Role, ValidationRules

GROUP = "kubeflow.org"
LAUNCHER = "Launcher"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
_SUSPEND = ("spec", "runPolicy", "suspend")

TRAINING_JOBS = {
    "MPIJob": ("mpiReplicaSpecs", (LAUNCHER, "Worker")),
    "PyTorchJob": ("pytorchReplicaSpecs", ("Master", "Worker")),
    "TFJob": ("tfReplicaSpecs", ("Chief", "Master", "PS", "Worker", "Evaluator")),
    "XGBoostJob": ("xgbReplicaSpecs", ("Master", "Worker")),
    "PaddleJob": ("paddleReplicaSpecs", ("Master", "Worker")),
    "JAXJob": ("jaxReplicaSpecs", ("Worker",)),
}


def training_job(kind: str) -> Callable[[Field], list[Role]]:
    """The roles of a Kubeflow job: the replica types that it has, in Kueue's order."""
    key, types = TRAINING_JOBS[kind]

    def roles(body: Field) -> list[Role]:
        specs = body.at("spec", key)
        given = [(name, specs.at(name)) for name in types if specs.at(name).given]
        if not given:
            specs.wrong(f"has none of {', '.join(types)}", "add at least one")
        return [
            Role(
                name.lower(),
                spec.at("replicas").count(1),
                spec.at("template"),
                Ranks(REPLICA_INDEX),
                ranked=name != LAUNCHER or _launcher_works(body),
            )
            for name, spec in given
        ]

    return roles


def _launcher_works(body: Field) -> bool:
    """Whether the launcher of an MPIJob is rank 0; otherwise it only runs mpirun."""
    return body.at("spec", "runLauncherAsWorker").value is True


def is_suspended(raw: Raw) -> bool:
    return at(raw, *_SUSPEND) is True


def suspended(raw: Raw, yes: bool) -> Raw:
    return put(raw, _SUSPEND, yes)


def is_active(raw: Raw) -> bool:
    return any(number(one, "active") for one in mapping(raw, "status", "replicaStatuses").values())


def pods_ready(raw: Raw) -> bool:
    return condition(raw, "Running") is not None


def launcher_notes(raw: Raw) -> dict[str, dict[str, str]]:
    """The workers' index offset: 1 if the launcher is rank 0, unless both are numbered together as a topology group."""
    specs = mapping(raw, "spec", "mpiReplicaSpecs")
    if at(raw, "spec", "runLauncherAsWorker") is not True or not (specs.get(LAUNCHER) and specs.get("Worker")):
        return {}
    if keys.GROUP in mapping(specs, LAUNCHER, "template", "metadata", "annotations"):
        return {}
    return {"worker": {marks.INDEX_OFFSET: "1"}}


def counted(raw: Raw) -> Raw:
    """An MPIJob at creation, with the index offset on its workers."""
    notes = launcher_notes(raw).get("worker")
    path = ("spec", "mpiReplicaSpecs", "Worker", "template", "metadata", "annotations")
    return raw if notes is None else put(raw, path, {**mapping(raw, *path), **notes})


def _with_templates(key: str) -> Callable[[Raw, Templates, Counts], Raw]:
    def with_templates(raw: Raw, templates: Templates, _counts: Counts) -> Raw:
        specs = mapping(raw, "spec", key)
        changed = {
            name: {**spec, "template": templates[name.lower()]} if name.lower() in templates else spec
            for name, spec in specs.items()
        }
        return put(raw, ("spec", key), changed)

    return with_templates


def _set(path: str) -> str:
    template, count = f"{path}.template", cel.at(f"{path}.replicas", "1")
    one = cel.one_set(cel.deep(template), cel.text(template + ANNOTATIONS), count)
    return f"({cel.given(path)} ? [{one}] : [])"


def _training(kind: str) -> Integration:
    key, types = TRAINING_JOBS[kind]
    return Integration(
        served=Kind(GROUP, "v1", kind, f"{kind.lower()}s", scale=True),
        framework=f"{GROUP}/{kind.lower()}",
        hosted=False,
        roles=training_job(kind),
        rules=ValidationRules.COUNT,
        fields={f"spec.{key}": types, **{f"spec.{key}.{name}": known.REPLICA for name in types}},
        is_suspended=is_suspended,
        suspended=suspended,
        with_templates=_with_templates(key),
        finished=ended("Succeeded", "Failed"),
        is_active=is_active,
        ready_in=pods_ready,
        held=AdmissionHold(suspend=".".join(_SUSPEND), sets=" + ".join(_set(f"spec.{key}.{name}") for name in types)),
    )


def _mpi_job() -> Integration:
    plain = _training("MPIJob")
    assert plain.held is not None
    specs = "spec.mpiReplicaSpecs"
    offset = Offset(f"{specs}.{LAUNCHER}", f"{specs}.Worker.template", "spec.runLauncherAsWorker")
    return replace(
        plain,
        served=Kind(GROUP, "v2beta1", "MPIJob", "mpijobs"),
        hosted=True,
        rules=ALL_RULES,
        description="A launcher, and the workers on which it starts processes.",
        notes=launcher_notes,
        held=replace(plain.held, offset=offset),
    )


MPI_JOB = _mpi_job()
PYTORCH_JOB = replace(
    _training("PyTorchJob"), hosted=True, description="A distributed PyTorch run.", columns=(STATE, AGE)
)
TRAINING = (MPI_JOB, PYTORCH_JOB, *(_training(kind) for kind in TRAINING_JOBS if kind not in ("MPIJob", "PyTorchJob")))
