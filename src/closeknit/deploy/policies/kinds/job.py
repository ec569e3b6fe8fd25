"""Job. One that may start with fewer pods is started with fewer, and stopped so: that is not held against it."""

from __future__ import annotations

from ....cluster.embedded.rules.settings import Settings
from ....cluster.kinds import JOB
from ....dialects.kueue import keys
from ....dialects.kueue.jobs import marks
from ....dialects.kueue.jobs.kinds import KINDS
from ..cel import all_of, any_of, at, has_note, is_count, negated, note, same, smaller, text, texts, when
from ..held import judging, suspended, suspending
from ..policy import Check, Mutating, Validating
from ..standing import IS_UPDATE, field_of
from ..topology import ANNOTATIONS, BOOLEANS, one_set

SUSPEND = "spec.suspend"
_PODS = at("spec.parallelism", "1")
_YES = BOOLEANS[: len(BOOLEANS) // 2]


def mutating(settings: Settings) -> Mutating:
    return suspending(settings, JOB, SUSPEND)


def validating(settings: Settings) -> Validating:
    count = smaller(_PODS, at("spec.completions", _PODS))
    sets = f"[{one_set('object.?spec.?template', text('spec.template' + ANNOTATIONS), count)}]"
    partial = has_note(keys.MIN_PARALLELISM)
    resized = all_of(IS_UPDATE, any_of(partial, f'{note(keys.ELASTIC)} == "true"'))
    running = negated(suspended(SUSPEND))
    rules = KINDS[JOB.group, JOB.kind].rules
    return judging(settings, JOB, running, rules, sets, [*_completions(), *_fewer(running)], unbounded=resized)


def _completions() -> list[Check]:
    """Completions go with the pods that the job starts with, if it says so."""
    value, field = note(marks.SAME_COMPLETIONS), field_of(marks.SAME_COMPLETIONS, "annotations")
    given, yes = has_note(marks.SAME_COMPLETIONS), f"{value} in {texts(_YES)}"
    indexed = f'{at("spec.completionMode", text("NonIndexed"))} == "Indexed"'
    equal = f"{at('spec.completions', '-1')} == {_PODS}"
    return [
        Check(when(given, f"{value} in {texts(BOOLEANS)}"), field, "must be true or false"),
        Check(when(yes, indexed), field, "needs completionMode Indexed"),
        Check(
            when(all_of(yes, indexed), equal),
            "spec.completions",
            f"must be equal to parallelism, for {marks.SAME_COMPLETIONS} says so",
        ),
    ]


def _fewer(running: str) -> list[Check]:
    """How few it may start with is judged when it is said, and when the number of pods is."""
    fewest, partial = note(keys.MIN_PARALLELISM), has_note(keys.MIN_PARALLELISM)
    unsaid = all_of(f"{fewest} == {note(keys.MIN_PARALLELISM, 'oldObject')}", same("spec.parallelism"))
    judged = any_of(f"!({IS_UPDATE})", all_of(suspended(SUSPEND), negated(unsaid)))
    ran = f"{at(SUSPEND, 'false', 'oldObject')} != true"
    return [
        Check(
            when(all_of(partial, judged), all_of(is_count(fewest), f"int({fewest}) < {_PODS}")),
            field_of(keys.MIN_PARALLELISM, "annotations"),
            "must be above 0 and below parallelism",
        ),
        Check(
            when(all_of(IS_UPDATE, partial, running, ran), same("spec.parallelism")),
            "spec.parallelism",
            "cannot change while a job that may start with fewer pods runs; stop the job first",
        ),
    ]
