"""Keys that nobody reads, said to whoever makes the job: a topology that is misspelt, or not on the pod template.

Nothing is refused for them, since a key may be newer than we are; but a job with one of them goes anywhere, and nobody
would know why. Keys that are nearly right in other ways are found by `check`, which can compare letters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...cluster.kinds import POD
from ...dialects.kueue import keys
from ...dialects.kueue.jobs.spelling import KEYS
from .cel import all_of, at, negated, text, texts
from .policy import CREATE, WARN, Check, Policy, Validating
from .topology import SETS

STEM = f"{keys.PREFIX}podset-"
SUFFIX = "-spelling"


def warning(policy: Policy) -> Iterator[Validating]:
    """Beside a policy that knows the pod sets of its kind."""
    if not isinstance(policy, Validating) or "sets" not in policy.variables:
        return
    checks = [_misspelt(), *(() if POD in policy.kinds else (_misplaced(),))]
    yield replace(policy, name=policy.name + SUFFIX, operations=(CREATE,), checks=checks, action=WARN)


def _misspelt() -> Check:
    wrong = all_of(f"k.startsWith({text(STEM)})", negated(f"k in {texts(KEYS)}"))
    found = f"{SETS}.filter(s, s.notes.exists(k, {wrong}))"
    named = f'{found}[0].at + "[" + {found}[0].notes.filter(k, {wrong})[0] + "]"'
    told = f"is not a known key; the keys are {', '.join(KEYS)}"
    return Check(f"!{SETS}.exists(s, s.notes.exists(k, {wrong}))", named, told, computed=True)


def _misplaced() -> Check:
    notes, wrong = at("metadata.annotations", "{}"), f"k.startsWith({text(STEM)})"
    named = f'"metadata.annotations[" + {notes}.filter(k, {wrong})[0] + "]"'
    return Check(f"!{notes}.exists(k, {wrong})", named, "is not read there; put it on the pod template", computed=True)
