"""What Deployment, StatefulSet and LeaderWorkerSet have in common: they wait by their pods.

Their templates are marked at creation and at every update, so that each of their pods is gated. A client that scales a
set writes its Scale, which has no queue; the controller handles that.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....cluster.embedded.rules.settings import AdmissionSettings
from ....cluster.kinds import Kind
from ....dialects.cel import IS_UPDATE, PolicyCheck, all_of, at, deep, given, label, text, when
from ....dialects.kueue import keys
from ....dialects.kueue.jobs import marks
from ....dialects.kueue.jobs.kinds import SERVING
from ....dialects.kueue.jobs.roles import ValidationRules
from .. import standing, topology
from ..conditions import is_held, judged, own
from ..marking import Path, label_on, note_on, only_if
from ..policy import CREATE, UPDATE, Mutating, Validating

READY = f"{at('status.readyReplicas', '0', 'oldObject')} > 0"
"""Whether some of its pods are ready, which corresponds to a running job."""


def marking(settings: AdmissionSettings, kind: Kind, *patches: str) -> Mutating:
    held = only_if(is_held(settings), *patches)
    return Mutating(kind.plural, [kind], (CREATE, UPDATE), own(settings), patches=held)


def parent(kind: Kind, template: Path) -> str:
    """Mark a template: its pods wait, and belong to this kind."""
    return note_on(template, marks.PARENT, text(SERVING[kind.group, kind.kind].framework))


def standing_of_set(template: Path) -> list[str]:
    """Copy the queue and the priority class of the set to its pods."""
    return [
        only_if(f'{label(key)} != ""', label_on(template, key, label(key))) for key in (keys.QUEUE, keys.PRIORITY_CLASS)
    ]


def judging(
    settings: AdmissionSettings, kind: Kind, rules: ValidationRules, sets: str, changes: Sequence[PolicyCheck]
) -> Validating:
    topological = topology.checks(settings.gates, rules) if sets else []
    held = [PolicyCheck(when(all_of(IS_UPDATE, is_held(settings)), one.ok), one.field, one.text) for one in changes]
    return Validating(
        kind.plural,
        [kind],
        (CREATE, UPDATE),
        judged(settings),
        topology.variables(sets, rules, settings.gates) if topological else {},
        checks=[*standing.serving_checks(kind, READY), *topological, *held],
    )


def same_shape(template: str) -> PolicyCheck:
    """Check that the fields that placement depends on, requests and node selection, do not change; others may."""
    there = f"{given(template)} == {given(template, 'oldObject')}"
    same = f"{_shape(template, 'object')} == {_shape(template, 'oldObject')}"
    return PolicyCheck(all_of(there, same), f"{template}.spec", "fields that placement depends on cannot be changed")


def _shape(template: str, of: str) -> str:
    """The fields that placement depends on. A limit without a request counts as the request.

    Without `dyn` the API server warns of unknown fields of quantities.
    """
    asked = at("resources.requests", "{}", "c")
    limits = f"{at('resources.limits', '{}', 'c')}.transformMap(k, v, !(k in {asked}), v)"
    listed = [at(f"{template}.spec.{key}", "[]", f"dyn({of})") for key in _CONTAINERS]
    containers = [f"{one}.map(c, [dyn({asked}), dyn({limits})])" for one in listed]
    parts = [deep(f"{template}.spec.{key}", f"dyn({of})") for key in _PARTS]
    return f"[{', '.join(f'dyn({one})' for one in (*containers, *parts))}]"


_CONTAINERS = ("containers", "initContainers")
_PARTS = ("affinity.nodeAffinity", "nodeSelector", "overhead", "resources", "tolerations")
