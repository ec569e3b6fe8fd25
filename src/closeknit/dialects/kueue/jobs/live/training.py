"""Training jobs of Kubeflow, MPIJob among them: replicas by type, each type with a template of its own."""

from __future__ import annotations

from dataclasses import replace

from ... import keys
from .. import marks
from ..integration import Counts, Finished, Integration, Sets, Templates, forms
from ..kinds import KUBEFLOW
from ..raw import Raw, at, condition, mapping, number, put
from ..replicas import LAUNCHER, TRAINING_JOBS, training_job

_SUSPEND = ("spec", "runPolicy", "suspend")


def is_suspended(raw: Raw) -> bool:
    return at(raw, *_SUSPEND) is True


def suspended(raw: Raw, yes: bool) -> Raw:
    return put(raw, _SUSPEND, yes)


def finished(raw: Raw) -> Finished | None:
    end = condition(raw, "Succeeded", "Failed")
    return None if end is None else Finished(end["type"] == "Succeeded", end.get("message") or "")


def is_active(raw: Raw) -> bool:
    return any(number(one, "active") for one in mapping(raw, "status", "replicaStatuses").values())


def pods_ready(raw: Raw) -> bool:
    return condition(raw, "Running") is not None


def launcher_notes(raw: Raw) -> dict[str, dict[str, str]]:
    """Where the launcher is rank 0, workers count from 1; in a group with it, they are counted together anyway."""
    specs = mapping(raw, "spec", "mpiReplicaSpecs")
    if at(raw, "spec", "runLauncherAsWorker") is not True or not (specs.get(LAUNCHER) and specs.get("Worker")):
        return {}
    if keys.GROUP in mapping(specs, LAUNCHER, "template", "metadata", "annotations"):
        return {}
    return {"worker": {marks.INDEX_OFFSET: "1"}}


def counted(raw: Raw) -> Raw:
    """An MPIJob as it is created: its workers say from where they count."""
    notes = launcher_notes(raw).get("worker")
    path = ("spec", "mpiReplicaSpecs", "Worker", "template", "metadata", "annotations")
    return raw if notes is None else put(raw, path, {**mapping(raw, *path), **notes})


def _integration(kind: str) -> Integration:
    key, _ = TRAINING_JOBS[kind]
    roles = training_job(kind)

    def pod_sets(raw: Raw) -> Sets:
        return forms(raw, roles)

    def with_templates(raw: Raw, templates: Templates, _counts: Counts) -> Raw:
        specs = mapping(raw, "spec", key)
        changed = {
            name: {**spec, "template": templates[name.lower()]} if name.lower() in templates else spec
            for name, spec in specs.items()
        }
        return put(raw, ("spec", key), changed)

    made = Integration(
        KUBEFLOW,
        kind,
        f"{KUBEFLOW}/{kind.lower()}",
        is_suspended,
        suspended,
        pod_sets,
        with_templates,
        finished,
        is_active,
        pods_ready,
    )
    return replace(made, notes=launcher_notes) if kind == "MPIJob" else made


TRAINING = tuple(_integration(kind) for kind in TRAINING_JOBS)
