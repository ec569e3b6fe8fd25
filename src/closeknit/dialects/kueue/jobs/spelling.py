"""Warnings about what Kubernetes and Kueue silently ignore: misspelt fields, unknown or misplaced topology keys, and
annotations of ours that cannot be parsed.

These are not errors, since a field may be newer than these lists; but a job with `paralelism: 64` has one pod, and a
topology annotation among the labels has no effect, so both deserve a warning.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping

from ....model.gates import Gates
from ....model.nearest import nearest
from ... import known_fields as fields
from ...field import CLOSE, Field
from ...own_marks import OF_JOBS, OF_NODES, OF_PODS, check_marks
from .. import keys
from ..topology_request import TopologyRequest
from . import marks
from .kinds import JOB_KINDS, KINDS

KEYS = (*keys.TOPOLOGY_ANNOTATIONS, keys.SLICE_SIZE, keys.GROUP)
NAMES = tuple(key.removeprefix(keys.PREFIX) for key in KEYS)
ALL_KEYS = frozenset(
    value
    for module in (keys, marks)
    for value in vars(module).values()
    if isinstance(value, str) and value.startswith(keys.PREFIX) and value != keys.PREFIX
)
"""All keys of Kueue that this code reads or writes."""
SLIP = 0.9
"""Minimum similarity, including the prefix, at which a key counts as a misspelling: one wrong letter."""

FIELDS: Mapping[str, Mapping[str, Collection[str]]] = {
    **{one.kind: one.fields for one in KINDS.values()},
    "Workload": {
        "spec": fields.WORKLOAD,
        "spec.podSets[]": fields.POD_SET,
        "spec.podSets[].topologyRequest": TopologyRequest.__struct_encode_fields__,
    },
}
"""By kind: the known fields by path; [] stands for every element of a list."""

RUNS_ITSELF = frozenset(one.kind for one in JOB_KINDS if one.runs_itself)
BETWEEN = {one.kind: one.between for one in JOB_KINDS if one.between}


def check_fields(job: Field, kind: str) -> None:
    for path, known in FIELDS.get(kind, {}).items():
        for field in _along(job, path):
            field.expect(known)


def check_job(job: Field, kind: str) -> None:
    """Check the fields, labels and annotations outside the pod templates."""
    check_fields(job, kind)
    for metadata in (job.at("metadata"), *(_along(job, BETWEEN[kind]) if kind in BETWEEN else ())):
        _check_metadata(metadata, of_pods=False)
        read, elsewhere = (OF_PODS, OF_NODES) if kind in RUNS_ITSELF else (OF_JOBS, {**OF_PODS, **OF_NODES})
        check_marks(metadata.at("annotations"), read, elsewhere, "put it on the pod template")


def check_template(template: Field, gates: Gates) -> None:
    template.expect(fields.TEMPLATE)
    check_pod(template, gates)


def check_pod(pod: Field, gates: Gates) -> None:
    for old, new in keys.FORMER.items():
        field = pod.at("metadata", "annotations", old)
        if field.given:
            field.warn(*((f"is read as {new}", "use that key") if "ReadFormerKeys" in gates else _unread(new)))
    _check_metadata(pod.at("metadata"), of_pods=True)
    check_marks(pod.at("metadata", "annotations"), OF_PODS, OF_NODES, "put it on a Node")


def _check_metadata(metadata: Field, of_pods: bool) -> None:
    metadata.expect(fields.METADATA)
    for key, field in metadata.at("annotations").fields().items():
        if key not in KEYS and key not in keys.FORMER:
            _check_key(key, field)
        elif not of_pods:
            field.warn("is ignored there", "put it on the pod template")
    for key, field in metadata.at("labels").fields().items():
        if key not in KEYS:
            _check_key(key, field)
        else:
            field.warn("is ignored as a label", "make it an annotation" + ("" if of_pods else " of the pod template"))


def _check_key(key: str, field: Field) -> None:
    if _is_meant_for_topology(key):
        meant = nearest(key.rpartition("/")[2], NAMES)
        remedy = f"the keys are {', '.join(KEYS)}" if meant is None else f"did you mean {keys.PREFIX}{meant}?"
        field.warn("is not a known key", remedy)
    elif key.startswith(keys.PREFIX) and key not in ALL_KEYS:
        meant = next(iter(difflib.get_close_matches(key, ALL_KEYS, n=1, cutoff=SLIP)), "")
        if meant:
            field.warn("is not a known key", f"did you mean {meant}?")


def _unread(new: str) -> tuple[str, str]:
    return "is not read", f"use {new}, or enable the feature gate ReadFormerKeys"


def _is_meant_for_topology(key: str) -> bool:
    """Whether a key is probably meant for topology: Kueue's keys like `podset…`, or known ones in another domain."""
    domain, _, name = key.rpartition("/")
    if f"{domain}/" != keys.PREFIX:
        return name in NAMES
    close = difflib.get_close_matches(name, NAMES, n=1, cutoff=CLOSE)
    return name.startswith("podset-") or (key != keys.POD_GROUP and bool(close))


def _along(field: Field, path: str) -> Iterable[Field]:
    """The fields at a path: "spec.replicatedJobs[]" gives one per replicated job."""
    found = [field]
    for part in path.split("."):
        found = [one.at(part.removesuffix("[]")) for one in found]
        if part.endswith("[]"):
            found = [item for one in found for item in one.items()]
    return found
