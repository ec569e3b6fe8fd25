"""Who is held: what names a queue, unless it belongs to something that could wait in a queue itself.

CEL reads no other object. Whether an owner does wait is not known here, so whatever an integrated kind controls is left
alone, and the controller follows the chain.
"""

from __future__ import annotations

from ...cluster.embedded.rules.settings import Settings
from ...dialects.kueue import keys
from ...dialects.kueue.jobs import marks
from ...dialects.kueue.jobs.live import LIVE, SERVING, Integration, Serving
from .cel import all_of, any_of, has_note, label, negated, note, same, texts

UNTOUCHED = "not-being-deleted"


def holders(settings: Settings) -> list[str]:
    """Kinds that hold what they control, as `belongs` writes them.

    A pod among them: the leader of a LeaderWorkerSet controls the StatefulSet of its workers.
    """
    known: list[Integration | Serving] = [*LIVE.values(), *SERVING.values()]
    kinds = {(one.group, one.kind) for one in known if one.framework in settings.frameworks}
    if by_pods(settings):
        kinds.add(("", "Pod"))
    return sorted(f"{group or 'v1'}/{kind}" for group, kind in kinds)


def by_pods(settings: Settings) -> list[str]:
    """Frameworks whose pods are gated, by what their templates say."""
    return sorted(one.framework for one in SERVING.values() if one.framework in settings.frameworks)


def belongs(settings: Settings) -> str:
    """Whether what controls the object is of a kind that could wait itself."""
    kind = 'o.apiVersion.split("/")[0] + "/" + o.kind'
    controls = "o.?controller.orValue(false)"
    return (
        f"object.metadata.?ownerReferences.orValue([]).exists(o, {controls} && ({kind}) in {texts(holders(settings))})"
    )


def is_held(settings: Settings) -> str:
    """Whether it is to wait: it names a queue, or all do."""
    return "true" if settings.all_jobs else f'{label(keys.QUEUE)} != ""'


PARENT = has_note(marks.PARENT)
"""Whether a pod comes of a template that was marked."""

IS_MIRROR = has_note("kubernetes.io/config.mirror")
"""Whether a pod only shows what a kubelet runs by itself: nobody can make that wait."""

IS_FRESH = any_of(
    "oldObject == null", negated(all_of(same("spec"), same("metadata.labels"), same("metadata.annotations")))
)
"""Whether there is something to judge. What was made before the policies stays changeable otherwise: the garbage
collector takes owners away, and a finalizer has to come off."""

IS_STAYING = "!has(object.metadata.deletionTimestamp)"


def parent_is_ours(settings: Settings) -> str:
    return f"{note(marks.PARENT)} in {texts(by_pods(settings))}"


def own(settings: Settings) -> dict[str, str]:
    """The conditions of mutating policies: nothing that another policy could bring about."""
    return {"on-its-own": negated(belongs(settings))}


def judged(settings: Settings) -> dict[str, str]:
    """The conditions of validating policies."""
    return {UNTOUCHED: IS_STAYING, "changed": IS_FRESH, **own(settings)}
