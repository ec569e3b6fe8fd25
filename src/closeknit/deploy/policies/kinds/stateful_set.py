"""StatefulSet: its pods are one group, with quota for its current size."""

from __future__ import annotations

from ....cluster.embedded.rules.settings import AdmissionSettings
from ....cluster.kinds import STATEFUL_SET
from ....dialects.cel import PolicyCheck, any_of, at
from ....dialects.kueue.jobs.roles import ValidationRules
from ..marking import put_on
from ..policy import Mutating, Validating
from .serving import judging, marking, parent, same_shape

TEMPLATE = ("spec", "template")


def mutating(settings: AdmissionSettings) -> Mutating:
    return marking(settings, STATEFUL_SET, put_on(TEMPLATE, notes=[parent(STATEFUL_SET, TEMPLATE)]))


def validating(settings: AdmissionSettings) -> Validating:
    after, before = at("spec.replicas", "1"), at("spec.replicas", "1", "oldObject")
    whole = any_of(f"{after} == {before}", f"{after} == 0", f"{before} == 0")
    scaled = PolicyCheck(whole, "spec.replicas", "a StatefulSet in a queue can only be scaled to 0, and back")
    return judging(settings, STATEFUL_SET, ValidationRules.NONE, "", [same_shape("spec.template"), scaled])
