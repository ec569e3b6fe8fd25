"""TrainJob. Its templates lie in a runtime, which CEL cannot read: the controller judges them."""

from __future__ import annotations

from ....cluster.embedded.rules.settings import Settings
from ....cluster.kinds import TRAIN_JOB
from ..cel import negated
from ..held import judging, suspended, suspending
from ..policy import Mutating, Validating

SUSPEND = "spec.suspend"


def mutating(settings: Settings) -> Mutating:
    return suspending(settings, TRAIN_JOB, SUSPEND)


def validating(settings: Settings) -> Validating:
    return judging(settings, TRAIN_JOB, negated(suspended(SUSPEND)))
