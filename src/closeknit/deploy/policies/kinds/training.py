"""Training jobs of Kubeflow: replicas by type. Where the launcher of an MPIJob is rank 0, its workers count from 1."""

from __future__ import annotations

from ....cluster.embedded.rules.settings import Settings
from ....cluster.kinds import MPI_JOB, Kind
from ....dialects.kueue import keys
from ....dialects.kueue.jobs import marks
from ....dialects.kueue.jobs.kinds import KINDS
from ....dialects.kueue.jobs.replicas import LAUNCHER, TRAINING_JOBS
from ..cel import all_of, at, deep, given, negated, text
from ..held import judging, suspended, suspending
from ..marking import NOTHING, note_on, only_if, put_on, within
from ..policy import Mutating, Validating
from ..topology import ANNOTATIONS, one_set

SUSPEND = "spec.runPolicy.suspend"


def mutating(settings: Settings, kind: Kind) -> Mutating:
    placed = kind is MPI_JOB and "TopologyAwareScheduling" in settings.gates
    return suspending(settings, kind, SUSPEND, more=_offset() if placed else NOTHING)


def _offset() -> str:
    """In a group with its launcher, the workers are counted together with it anyway."""
    worker, launcher = ("spec", "mpiReplicaSpecs", "Worker", "template"), f"spec.mpiReplicaSpecs.{LAUNCHER}"
    grouped = f"{text(keys.GROUP)} in {at(f'{launcher}.template.metadata.annotations', '{}')}"
    works = f"{at('spec.runLauncherAsWorker', 'false')} == true"
    ready = all_of(works, given(launcher), within(worker), f"!({grouped})")
    return only_if(ready, put_on(worker, notes=[note_on(worker, marks.INDEX_OFFSET, text("1"))]))


def validating(settings: Settings, kind: Kind) -> Validating:
    key, types = TRAINING_JOBS[kind.kind]
    sets = " + ".join(_one(f"spec.{key}.{name}") for name in types)
    return judging(settings, kind, negated(suspended(SUSPEND)), KINDS[kind.group, kind.kind].rules, sets)


def _one(path: str) -> str:
    one = one_set(deep(f"{path}.template"), text(f"{path}.template{ANNOTATIONS}"), at(f"{path}.replicas", "1"))
    return f"({given(path)} ? [{one}] : [])"
