"""AppWrapper: arbitrary objects that are created and deleted together; some of them have pods.

A component declares the paths of the pod templates in its template, and the numbers of pods; for common kinds they are
inferred. What a started job's pods get is not written into these templates but into `podSetInfos` beside them, and the
operator injects it when it creates the objects. So restoring a job means removing the infos.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .....model.request import Ranks
from .....model.shape import whole_number
from ....field import Field
from ....served import Kind
from ..injection import Info, StartConflict, injected, toleration_form
from ..integration import Finished, Integration, Sets, suspended
from ..job_kind import AdmissionHold, Column
from ..raw import Raw, at, condition, each, put, without
from ..roles import MAX_POD_SETS, NO_RANKS, Role
from .job import JOB
from .job_set import JOB_SET
from .ray_cluster import RAY_CLUSTER
from .ray_job import RAY_JOB
from .training import PYTORCH_JOB

GROUP = "workload.codeflare.dev"
COMPONENTS = ("spec", "components")
DEPLOYED, QUOTA, READY = "ResourcesDeployed", "QuotaReserved", "PodsReady"

_HINT = "workload.codeflare.dev.appwrapper/tas-"
_REPLICATED = (("apps", "Deployment"), ("apps", "StatefulSet"))
_INFERRED = {(one.group, one.kind): one for one in (JOB, JOB_SET, PYTORCH_JOB, RAY_CLUSTER, RAY_JOB)}
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_PATH = re.compile(r"template(?:\.[^.\[\]]+|\[\d+\])*")


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A pod set of a component; `path` is that of its pod template: template.spec.template."""

    path: str
    count: int
    template: Field
    ranks: Ranks = NO_RANKS


def wrapped(component: Field) -> list[Wrapped]:
    """The pod sets that a component declares, or else those inferred from its kind."""
    declared = component.at("podSets").items()
    return [_declared(component, one) for one in declared] if declared else _inferred(component.at("template"))


def _declared(component: Field, one: Field) -> Wrapped:
    path, found = one.at("path"), component
    if not _PATH.fullmatch(path.text()):
        path.wrong(f'is "{path.text()}"', "set the path of a pod template, such as template.spec.template")
    else:
        found = down(component, path.text())
        if not isinstance(at(found.value, "spec"), dict):
            path.wrong(f"leads to {found.path}, which is not a pod template", "set the path of one")
    notes = one.at("annotations").strings()
    groups = whole_number(notes.get(f"{_HINT}sub-group-count", ""))
    ranks = Ranks(notes.get(f"{_HINT}pod-index-label"), notes.get(f"{_HINT}sub-group-index-label"), groups)
    return Wrapped(path.text(), one.at("replicas").count(1), found, ranks)


def _inferred(template: Field) -> list[Wrapped]:
    group, _, _version = template.at("apiVersion").text().rpartition("/")
    key = (group, template.at("kind").text())
    if key == ("", "Pod"):
        return [Wrapped("template", 1, template)]
    if key in _REPLICATED:
        pods = template.at("spec", "template")
        return [Wrapped("template.spec.template", template.at("spec", "replicas").count(1), pods)]
    roles = [one for one in _INFERRED[key].roles(template) if one.ranked] if key in _INFERRED else []
    start = len(template.path)
    return [Wrapped(f"template{one.template.path[start:]}", one.count, one.template, one.ranks) for one in roles]


def down(component: Field, path: str) -> Field:
    """The field at a path of a component; empty if there is none."""
    template, rest = component.at("template"), path.removeprefix("template")
    value = template.value
    for key, index in _STEP.findall(rest):
        if key:
            value = at(value, key)
        else:
            value = value[int(index)] if isinstance(value, list) and int(index) < len(value) else None
    return Field(value, f"{template.path}{rest}", template.report)


def put_down(template: Any, path: str, value: Raw) -> Any:
    """The template of a component with this value at the path."""
    steps: list[tuple[str, str]] = _STEP.findall(path.removeprefix("template"))
    return _put(template, steps, value)


def _put(tree: Any, steps: Sequence[tuple[str, str]], value: Raw) -> Any:
    if not steps:
        return value
    (key, index), *rest = steps
    if key:
        return {**tree, key: _put(tree[key], rest, value)}
    return [_put(one, rest, value) if place == int(index) else one for place, one in enumerate(tree)]


def roles(body: Field) -> list[Role]:
    components, name = body.at(*COMPONENTS), body.at("metadata", "name").text()
    found = [one for component in components.items() for one in wrapped(component)]
    if components.value in (None, []):
        components.wrong("is missing", "add at least one component")
    if len(found) > MAX_POD_SETS:
        components.wrong(f"have {len(found)} pod sets", f"a Workload allows at most {MAX_POD_SETS}")
    return [Role(f"{name}-{index}", one.count, one.template, one.ranks) for index, one in enumerate(found)]


def start(raw: Raw, sets: Sets, infos: Sequence[Info]) -> Raw | StartConflict:
    for one, info in zip(sets, infos, strict=True):
        if isinstance(conflict := injected(one.template, info), StartConflict):
            return conflict
    left = iter(infos)
    components = [
        {**one, "podSetInfos": mine} if (mine := [_info(next(left)) for _ in wrapped(Field.root(one))]) else one
        for one in each(raw, *COMPONENTS)
    ]
    return suspended(put(raw, COMPONENTS, components), False)


def _info(info: Info) -> Raw:
    wire: dict[str, Any] = {
        "annotations": dict(info.annotations),
        "labels": dict(info.labels),
        "nodeSelector": dict(info.selector),
        "tolerations": [toleration_form(one) for one in info.tolerations],
        "schedulingGates": [{"name": name} for name in info.gates],
    }
    return {key: value for key, value in wire.items() if value}


def restore(raw: Raw) -> Raw:
    return put(raw, COMPONENTS, [without(one, ("podSetInfos",)) for one in each(raw, *COMPONENTS)])


def finished(raw: Raw) -> Finished | None:
    """A failed AppWrapper has finished only when its objects are gone."""
    match at(raw, "status", "phase"):
        case "Succeeded":
            return Finished(True, "AppWrapper finished successfully")
        case "Failed" if condition(raw, DEPLOYED) is None:
            return Finished(False, "AppWrapper failed")
    return None


def is_active(raw: Raw) -> bool:
    return condition(raw, QUOTA) is not None


def pods_ready(raw: Raw) -> bool:
    return condition(raw, READY) is not None


_TEXTS = {"map": "string"}
_SET = {"fields": {"annotations": _TEXTS, "path": "string", "replicas": "int32"}, "need": ["path"]}
_INFO = {
    "fields": {
        "annotations": _TEXTS,
        "labels": _TEXTS,
        "nodeSelector": _TEXTS,
        "schedulingGates": {"list": "any"},
        "tolerations": {"list": "any"},
    }
}
_COMPONENT = {
    "fields": {
        "annotations": _TEXTS,
        "podSetInfos": {"list": _INFO},
        "podSets": {"list": _SET},
        "template": "any",
    },
    "need": ["template"],
}

APP_WRAPPER = Integration(
    served=Kind(GROUP, "v1beta2", "AppWrapper", "appwrappers"),
    framework=f"{GROUP}/appwrapper",
    description="Objects that are created together once there is capacity for all of their pods.",
    roles=roles,
    judges_roles=True,
    fields={
        "spec": ("components", "managedBy", "suspend"),
        "spec.components[]": ("annotations", "podSetInfos", "podSets", "template"),
        "spec.components[].podSets[]": ("annotations", "path", "replicas"),
    },
    columns=(
        Column("Status", "status.phase"),
        *(
            Column(name, "status.conditions", condition=name.replace(" ", ""))
            for name in ("Quota Reserved", "Resources Deployed", "Unhealthy")
        ),
    ),
    schema={
        "fields": {"components": {"list": _COMPONENT}, "managedBy": "string", "suspend": "boolean"},
        "need": ["components"],
    },
    finished=finished,
    is_active=is_active,
    ready_in=pods_ready,
    start=start,
    restore=restore,
    held=AdmissionHold(),
)
