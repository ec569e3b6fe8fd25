"""Deployment: each of its pods waits on its own."""

from __future__ import annotations

from ....cluster.embedded.rules.settings import AdmissionSettings
from ....cluster.kinds import DEPLOYMENT
from ....dialects.cel import text
from ....dialects.kueue.jobs import marks
from ....dialects.kueue.jobs.roles import ValidationRules
from ..marking import label_on, put_on
from ..policy import Mutating, Validating
from .serving import judging, marking, parent, standing_of_set

TEMPLATE = ("spec", "template")


def mutating(settings: AdmissionSettings) -> Mutating:
    labels = [label_on(TEMPLATE, marks.MANAGED, text("true")), *standing_of_set(TEMPLATE)]
    return marking(settings, DEPLOYMENT, put_on(TEMPLATE, labels, [parent(DEPLOYMENT, TEMPLATE)]))


def validating(settings: AdmissionSettings) -> Validating:
    return judging(settings, DEPLOYMENT, ValidationRules.NONE, "", ())
