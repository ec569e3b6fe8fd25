"""Warnings about annotations that have no effect: topology keys that are misspelt, or not on the pod template.

They are not errors, since a key may be newer than this version; but a job with one of them is placed anywhere without
any hint why. Other near misses are found by `closeknit check`, which can compare spellings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...cluster.embedded.rules.settings import AdmissionSettings
from ...cluster.kinds import DEPLOYMENT, JOB_SET, POD, STATEFUL_SET
from ...dialects.cel import ANNOTATIONS, PolicyCheck, all_of, any_of, at, negated, one_set, record, text, texts
from ...dialects.kueue import keys
from ...dialects.kueue.jobs.spelling import KEYS
from ...model.gates import Gates
from .policy import CREATE, WARN, AdmissionPolicy, Validating
from .topology import WRITTEN

STEM = f"{keys.PREFIX}podset-"
SUFFIX = "-spelling"
BY_PODS = (DEPLOYMENT, STATEFUL_SET)
"""Kinds with topology that is validated when pods are created: the author of the template would not see it then."""


def warning(policy: AdmissionPolicy, settings: AdmissionSettings) -> Iterator[Validating]:
    """The warning policy in addition to the policy of a kind."""
    if not isinstance(policy, Validating) or "TopologyAwareScheduling" not in settings.gates:
        return
    (kind,) = policy.kinds
    variables = dict(policy.variables)
    if kind in BY_PODS:
        variables["written"] = f"[{one_set('object.?spec.?template', text(f'spec.template{ANNOTATIONS}'))}]"
    checks = [_misspelt(), *_former(settings.gates)] if "written" in variables else []
    if kind is not POD:
        checks.append(_misplaced(f"[{_notes(text('metadata.annotations'), 'object.?metadata')}]"))
    if kind is JOB_SET:
        where = '"spec.replicatedJobs[" + string(i) + "].template.metadata.annotations"'
        found = f"{at('spec.replicatedJobs', '[]')}.transformList(i, j, {_notes(where, 'j.?template.?metadata')})"
        checks.append(_misplaced(found))
    named = policy.name + SUFFIX
    yield replace(policy, name=named, operations=(CREATE,), variables=variables, checks=checks, action=WARN)


def _notes(where: str, metadata: str) -> str:
    return record(at=where, notes=f"{metadata}.?annotations.orValue({{}})")


def _misspelt() -> PolicyCheck:
    wrong = all_of(f"k.startsWith({text(STEM)})", negated(f"k in {texts(KEYS)}"))
    return _check(WRITTEN, wrong, f"is not a known key; the keys are {', '.join(KEYS)}")


def _former(gates: Gates) -> Iterator[PolicyCheck]:
    for old, new in keys.FORMER.items():
        told = f"is read as {new}; use that key" if "ReadFormerKeys" in gates else f"is not read; use {new}"
        yield _check(WRITTEN, f"k == {text(old)}", told)


def _misplaced(places: str) -> PolicyCheck:
    wrong = any_of(f"k.startsWith({text(STEM)})", f"k in {texts(keys.FORMER)}")
    return _check(places, wrong, "is ignored there; put it on the pod template")


def _check(places: str, wrong: str, message: str) -> PolicyCheck:
    """A check that no annotation `k` of the records `places` is wrong; it names the first that is."""
    found = f"{places}.filter(s, s.notes.exists(k, {wrong}))"
    named = f'{found}[0].at + "[" + {found}[0].notes.filter(k, {wrong})[0] + "]"'
    return PolicyCheck(f"!{places}.exists(s, s.notes.exists(k, {wrong}))", named, message, computed=True)
