"""LeaderWorkerSet: the pods of each replica are a group; the leader may have a template of its own."""

from __future__ import annotations

from ....cluster.embedded.rules.settings import AdmissionSettings
from ....cluster.kinds import LEADER_WORKER_SET
from ....dialects.cel import ANNOTATIONS, PolicyCheck, all_of, at, deep, given, one_set, same, text
from ....dialects.kueue import keys
from ....dialects.kueue.jobs import marks
from ....dialects.kueue.jobs.kinds import KINDS
from ..marking import Path, note_on, only_if, put_on, within
from ..policy import Mutating, Validating
from .serving import judging, marking, parent, same_shape, standing_of_set

GROUP = "spec.leaderWorkerTemplate"
LEADER, WORKER = f"{GROUP}.leaderTemplate", f"{GROUP}.workerTemplate"
TEMPLATES: tuple[Path, Path] = (tuple(LEADER.split(".")), tuple(WORKER.split(".")))


def mutating(settings: AdmissionSettings) -> Mutating:
    leader, worker = TEMPLATES
    counted = [_offset()] if "TopologyAwareScheduling" in settings.gates else []
    return marking(settings, LEADER_WORKER_SET, _marked(leader), _marked(worker, *counted))


def _marked(template: Path, *more: str) -> str:
    notes = [parent(LEADER_WORKER_SET, template), note_on(template, marks.SERVING, text("true")), *more]
    return put_on(template, standing_of_set(template), notes)


def _offset() -> str:
    """Set the workers' index offset to 1 if the leader has its own template, unless both are one topology group."""
    leader, worker = TEMPLATES
    grouped = f"{text(keys.GROUP)} in {at(WORKER + ANNOTATIONS, '{}')}"
    return only_if(all_of(within(leader), f"!({grouped})"), note_on(worker, marks.INDEX_OFFSET, text("1")))


def validating(settings: AdmissionSettings) -> Validating:
    kind, size = LEADER_WORKER_SET, at(f"{GROUP}.size", "1")
    leader = _one(LEADER, "1")
    sets = f"{given(LEADER)} ? [{leader}, {_one(WORKER, f'{size} - 1')}] : [{_one(WORKER, size)}]"
    fixed = PolicyCheck(same(f"{GROUP}.size"), f"{GROUP}.size", "cannot be changed; create a new set")
    changes = [fixed, same_shape(LEADER), same_shape(WORKER)]
    return judging(settings, kind, KINDS[kind.group, kind.kind].rules, sets, changes)


def _one(path: str, count: str) -> str:
    return one_set(deep(path), text(path + ANNOTATIONS), count)
