"""The pods of a Job: their names, labels and annotations, and the finalizer that keeps them until they are counted."""

from __future__ import annotations

from ...kinds import JOB, POD
from ...port import Create, Raw, Update
from .children import pod, with_env

PREFIX = "batch.kubernetes.io/"
TRACKING = PREFIX + "job-tracking"
INDEX = PREFIX + "job-completion-index"
FAILURES, IGNORED = PREFIX + "job-index-failure-count", PREFIX + "job-index-ignored-failure-count"
INDEX_VARIABLE = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}},
}
LONGEST_PREFIX = 58
"""Maximum length of a generateName, which gets a suffix of five characters."""


def new_pod(job: Raw, index: int | None = None, counts: dict[str, str] | None = None) -> Create:
    """A new pod, for an index if the job is Indexed; `counts` are annotations with the failures of the index."""
    meta, spec = job["metadata"], job["spec"]
    name, template = meta["name"], spec["template"]
    labels = {} if spec.get("manualSelector") else own_labels(meta)
    if index is None:
        return pod(template, JOB, job, prefix=f"{name}-", labels=labels, finalizers=(TRACKING,))
    labels[INDEX] = str(index)
    inner = template.get("spec") or {}
    more = {part: with_env(inner[part], [INDEX_VARIABLE]) for part in ("initContainers", "containers") if part in inner}
    tail = f"-{index}-"
    return pod(
        template,
        JOB,
        job,
        prefix=name[: LONGEST_PREFIX - len(tail)] + tail,
        labels=labels,
        annotations={INDEX: str(index), **(counts or {})},
        finalizers=(TRACKING,),
        spec={**more, "hostname": f"{name}-{index}"},
    )


def own_labels(meta: Raw) -> dict[str, str]:
    """The labels that connect a pod to its job."""
    name, uid = meta["name"], meta["uid"]
    return {PREFIX + "controller-uid": uid, PREFIX + "job-name": name, "controller-uid": uid, "job-name": name}


def index_of(pod: Raw) -> int:
    """The completion index of a pod; -1 if it has none."""
    text = (pod["metadata"].get("annotations") or {}).get(INDEX, "")
    return int(text) if text.isdigit() else -1


def failed_before(pod: Raw) -> int:
    """How often its index had failed before the pod was created."""
    return int((pod["metadata"].get("annotations") or {}).get(FAILURES, "0"))


def ignored_before(pod: Raw) -> int:
    """How many failures of its index had been ignored by then."""
    return int((pod["metadata"].get("annotations") or {}).get(IGNORED, "0"))


def is_tracked(pod: Raw) -> bool:
    return TRACKING in (pod["metadata"].get("finalizers") or ())


def untracked(pod: Raw) -> Update:
    """The pod without its finalizer: it has been counted, or need not be."""
    meta = dict(pod["metadata"])
    meta.pop("resourceVersion", None)
    kept = [one for one in meta.pop("finalizers", ()) if one != TRACKING]
    if kept:
        meta["finalizers"] = kept
    return Update(POD, {**pod, "metadata": meta})
