"""JobSet: a pod set for each replicated job."""

from __future__ import annotations

from ....cluster.embedded.rules.settings import Settings
from ....cluster.kinds import JOB_SET
from ....dialects.kueue.jobs.kinds import KINDS
from ..cel import at, negated, smaller, text
from ..held import judging, suspended, suspending
from ..policy import Mutating, Validating
from ..topology import ANNOTATIONS, one_set

SUSPEND = "spec.suspend"


def mutating(settings: Settings) -> Mutating:
    return suspending(settings, JOB_SET, SUSPEND)


def validating(settings: Settings) -> Validating:
    pods = at("template.spec.parallelism", "1", "j")
    count = f"{at('replicas', '1', 'j')} * {smaller(pods, at('template.spec.completions', pods, 'j'))}"
    path = f'"spec.replicatedJobs[" + string(i) + {text("].template.spec.template" + ANNOTATIONS)}'
    one = one_set("j.?template.?spec.?template", path, count)
    sets = f"{at('spec.replicatedJobs', '[]')}.transformList(i, j, {one})"
    return judging(settings, JOB_SET, negated(suspended(SUSPEND)), KINDS[JOB_SET.group, JOB_SET.kind].rules, sets)
