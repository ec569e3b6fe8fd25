"""The queue and the priority class `default` for objects that name none; and a check that a queue is not removed.

These policies have a parameter, the queue or the class of that name: without it they do nothing. Templates get the
class here, not from their set: see `policy`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...cluster.embedded.rules.queueing.managed import DEFAULT
from ...cluster.embedded.rules.settings import AdmissionSettings
from ...cluster.kinds import DEPLOYMENT, LEADER_WORKER_SET, LOCAL_QUEUE, POD, WORKLOAD_PRIORITY_CLASS, Kind
from ...dialects.cel import PolicyCheck, all_of, any_of, label, negated, text
from ...dialects.kueue import keys
from .conditions import IS_OF_NODE, IS_STAYING, PARENT, UNTOUCHED, belongs, is_held, own
from .kinds import deployment, leader_worker_set
from .marking import Path, label_on, only_if, put_all, put_on
from .policy import UPDATE, AdmissionPolicy, Mutating, Param, Validating
from .standing import field_of

QUEUE = Param(LOCAL_QUEUE, DEFAULT)
CLASS = Param(WORKLOAD_PRIORITY_CLASS, DEFAULT)
TEMPLATES: dict[Kind, tuple[Path, ...]] = {
    DEPLOYMENT: (deployment.TEMPLATE,),
    LEADER_WORKER_SET: leader_worker_set.TEMPLATES,
}
"""Templates that get the class of their set."""

_LABELS = ("metadata", "labels")
_NO_QUEUE, _NO_CLASS = (f'{label(key)} == ""' for key in (keys.QUEUE, keys.PRIORITY_CLASS))


def policies(settings: AdmissionSettings, kinds: Iterable[Kind]) -> Iterable[AdmissionPolicy]:
    alone = own(settings)
    others = [kind for kind in kinds if kind is not POD]
    by_itself = all_of(negated(PARENT), negated(IS_OF_NODE), negated(belongs(settings)))
    groups = [("", others, alone), ("pods-", [POD] if "pod" in settings.frameworks else [], {"by-itself": by_itself})]
    for prefix, found, conditions in groups:
        if found:
            queued = only_if(_NO_QUEUE, put_all(_LABELS, {keys.QUEUE: text(DEFAULT)}))
            yield Mutating(f"{prefix}default-queue", found, conditions=conditions, param=QUEUE, patches=queued)
            named = put_all(_LABELS, {keys.PRIORITY_CLASS: text(DEFAULT)})
            classed = only_if(all_of(is_held(settings), _NO_CLASS), named)
            yield Mutating(f"{prefix}default-class", found, conditions=conditions, param=CLASS, patches=classed)
            yield _kept(prefix, found, conditions)
    for kind, templates in TEMPLATES.items():
        if kind in others:
            yield _classed(settings, kind, templates)


def _classed(settings: AdmissionSettings, kind: Kind, templates: Iterable[Path]) -> Mutating:
    """Set the class on templates. Policies run in any order, so the set may or may not have its class already."""
    lacking = any_of(_NO_CLASS, f"{label(keys.PRIORITY_CLASS)} == {text(DEFAULT)}")
    marked = [put_on(one, [label_on(one, keys.PRIORITY_CLASS, text(DEFAULT))]) for one in templates]
    patches = only_if(all_of(is_held(settings), lacking), *marked)
    return Mutating(f"{kind.plural}-default-class", [kind], conditions=own(settings), param=CLASS, patches=patches)


def _kept(prefix: str, kinds: list[Kind], conditions: dict[str, str]) -> Validating:
    removed = all_of(f'{label(keys.QUEUE, "oldObject")} != ""', _NO_QUEUE)
    message = "cannot be removed in a namespace with a default queue; name another one"
    check = PolicyCheck(negated(removed), field_of(keys.QUEUE), message)
    conditions = {UNTOUCHED: IS_STAYING, **conditions}
    return Validating(f"{prefix}default-queue", kinds, (UPDATE,), conditions, param=QUEUE, checks=[check])
