"""RayCluster and RayJob. A job in a cluster that is there already is not held: KubeRay could not suspend it."""

from __future__ import annotations

from ....cluster.embedded.rules.settings import Settings
from ....cluster.kinds import RAY_CLUSTER, RAY_JOB, Kind
from ....dialects.kueue import keys
from ....dialects.kueue.jobs.kinds import KINDS
from ....dialects.kueue.jobs.ray import HEAD
from ....dialects.kueue.jobs.roles import MAX_POD_SETS
from ..cel import all_of, at, deep, given, negated, note, text, when
from ..conditions import is_held
from ..held import judging, suspended, suspending
from ..policy import Check, Mutating, Validating
from ..standing import IS_UPDATE
from ..topology import ANNOTATIONS, one_set

SUSPEND = "spec.suspend"
CLUSTER = {RAY_CLUSTER: "spec", RAY_JOB: "spec.rayClusterSpec"}
"""Where the cluster is described."""
_ELSEWHERE = f"{at('spec.clusterSelector', '{}')} != {{}}"
_ELASTIC = f'{note(keys.ELASTIC)} == "true"'
_LABEL = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"


def mutating(settings: Settings, kind: Kind) -> Mutating:
    return suspending(settings, kind, SUSPEND, unless=_ELSEWHERE if kind is RAY_JOB else "false")


def validating(settings: Settings, kind: Kind) -> Validating:
    cluster = CLUSTER[kind]
    sets = _sets(cluster)
    held = is_held(settings)
    more = [*_groups(cluster)]
    if kind is RAY_JOB:
        template = one_set("object.?spec.?submitterPodTemplate", text("spec.submitterPodTemplate" + ANNOTATIONS))
        submitted = f'{at("spec.submissionMode", text("K8sJobMode"))} == "K8sJobMode"'
        submitter = f"({all_of(submitted, given('spec.submitterPodTemplate'))} ? [{template}] : [])"
        sets, held = f"({_ELSEWHERE}) ? [] : {sets} + {submitter}", all_of(held, negated(_ELSEWHERE))
        more = [_shutdown(), *more]
    return judging(
        settings,
        kind,
        negated(suspended(SUSPEND)),
        KINDS[kind.group, kind.kind].rules,
        sets,
        [Check(when("variables.held", one.ok), one.field, one.text, one.computed) for one in more],
        {"held": held, "groups": at(f"{cluster}.workerGroupSpecs", "[]")},
        unbounded=all_of(IS_UPDATE, _ELASTIC),
    )


def _sets(cluster: str) -> str:
    head = f"{cluster}.headGroupSpec.template"
    hosts = at("numOfHosts", "1", "g")
    count = f"{at('replicas', '1', 'g')} * ({hosts} > 1 ? {hosts} : 1)"
    path = f"{text(f'{cluster}.workerGroupSpecs[')} + string(i) + {text('].template' + ANNOTATIONS)}"
    workers = f"variables.groups.transformList(i, g, {one_set('g.?template', path, count)})"
    return f"[{one_set(deep(head), text(head + ANNOTATIONS))}] + {workers}"


def _shutdown() -> Check:
    done = f"{at('spec.shutdownAfterJobFinishes', 'false')} == true"
    return Check(done, "spec.shutdownAfterJobFinishes", "must be true, so that the quota is given back in the end")


def _groups(cluster: str) -> list[Check]:
    """Groups become pod sets: there are only so many, and each has a name of its own."""
    scales = f"{at(f'{cluster}.enableInTreeAutoscaling', 'false')} == true"
    before = "variables.groups.exists(j, o, j < i && o.groupName.lowerAscii() == g.groupName.lowerAscii())"
    name = "g.groupName.lowerAscii()"
    wrong = f"!{name}.matches({text(_LABEL)}) || {name} == {text(HEAD)} || {before}"
    first = f"variables.groups.transformList(i, g, {wrong}, i)[0]"
    return [
        Check(
            when(scales, _ELASTIC),
            f"{cluster}.enableInTreeAutoscaling",
            f"makes the number of pods unknown; set it to false, or the annotation {keys.ELASTIC} to true",
        ),
        Check(
            f"variables.groups.all(i, g, !({wrong}))",
            f'{text(f"{cluster}.workerGroupSpecs[")} + string({first}) + "].groupName"',
            f"give every group a name of its own, of at most 63 letters, digits and dashes, and not {HEAD}",
            computed=True,
        ),
        Check(
            f"variables.groups.size() < {MAX_POD_SETS}",
            f"{cluster}.workerGroupSpecs[{MAX_POD_SETS - 1}].groupName",
            f"is one too many; a Workload takes at most {MAX_POD_SETS} pod sets",
        ),
    ]
