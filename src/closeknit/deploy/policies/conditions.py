"""Which objects are held: those that name a queue, unless their owner could wait in a queue itself.

CEL reads no other objects. Whether an owner does wait is not known here, so everything that an integrated kind controls
is left alone, and the controller follows the chain of owners.
"""

from __future__ import annotations

from ...cluster.embedded.rules.settings import AdmissionSettings
from ...cluster.kinds import DAEMON_SET
from ...dialects.cel import all_of, any_of, has_note, label, negated, note, same, texts
from ...dialects.kueue import keys
from ...dialects.kueue.jobs import marks
from ...dialects.kueue.jobs.kinds import LIVE, SERVING, Integration, Serving

UNTOUCHED = "not-being-deleted"


def holders(settings: AdmissionSettings) -> list[str]:
    """Kinds with dependents that are not held themselves, in the form that `belongs` compares.

    Pod is among them: the leader of a LeaderWorkerSet controls the StatefulSet of its workers.
    """
    known: list[Integration | Serving] = [*LIVE.values(), *SERVING.values()]
    kinds = {(one.group, one.kind) for one in known if one.framework in settings.frameworks}
    if by_pods(settings):
        kinds.add(("", "Pod"))
    return sorted(f"{group or 'v1'}/{kind}" for group, kind in kinds)


def by_pods(settings: AdmissionSettings) -> list[str]:
    """Frameworks with pods that are gated because of an annotation in their templates."""
    return sorted(one.framework for one in SERVING.values() if one.framework in settings.frameworks)


def belongs(settings: AdmissionSettings) -> str:
    """Whether the object's controller is of a kind that could wait itself."""
    return _controlled_by(holders(settings))


def _controlled_by(kinds: list[str]) -> str:
    kind = 'o.apiVersion.split("/")[0] + "/" + o.kind'
    controls = "o.?controller.orValue(false)"
    return f"object.metadata.?ownerReferences.orValue([]).exists(o, {controls} && ({kind}) in {texts(kinds)})"


def is_held(settings: AdmissionSettings) -> str:
    """Whether the object is held: it names a queue, or all jobs are held."""
    return "true" if settings.all_jobs else f'{label(keys.QUEUE)} != ""'


PARENT = has_note(marks.PARENT)
"""Whether a pod comes from a template with our annotation."""

IS_OF_NODE = any_of(has_note("kubernetes.io/config.mirror"), _controlled_by([f"{DAEMON_SET.group}/{DAEMON_SET.kind}"]))
"""Whether a pod belongs to its node and is never held: the mirror of a static pod, or a pod of a DaemonSet."""

IS_FRESH = any_of(
    "oldObject == null", negated(all_of(same("spec"), same("metadata.labels"), same("metadata.annotations")))
)
"""Whether there is something to validate. Otherwise objects older than the policies stay changeable: the garbage
collector removes owners, and a finalizer has to be removed."""

IS_STAYING = "!has(object.metadata.deletionTimestamp)"


def parent_is_ours(settings: AdmissionSettings) -> str:
    return f"{note(marks.PARENT)} in {texts(by_pods(settings))}"


def own(settings: AdmissionSettings) -> dict[str, str]:
    """The conditions of mutating policies, none of which another policy can change."""
    return {"on-its-own": negated(belongs(settings))}


def judged(settings: AdmissionSettings) -> dict[str, str]:
    """The conditions of validating policies."""
    return {UNTOUCHED: IS_STAYING, "changed": IS_FRESH, **own(settings)}
