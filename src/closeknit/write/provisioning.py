"""A ProvisioningRequest and the PodTemplates that it refers to: the pods of a workload as they would run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..cluster.kinds import POD_TEMPLATE, PROVISIONING_REQUEST
from ..cluster.port import Create, Raw, Update, Write
from ..dialects.kueue.jobs.injection import Info, injected
from ..dialects.kueue.jobs.workload_object import owner_reference
from ..dialects.kueue.keys import PREFIX
from ..lifecycle.action import RequestProvisioning
from ..lifecycle.provisioning import needed, shortened
from ..model.provisioning import IDENTICAL_REQUIREMENTS, IDENTICAL_TEMPLATES
from ..model.shape import Shape
from ..observe.provisioning import ATTEMPT, CHECK, POD_SETS

MANAGED = PREFIX + "managed"


@dataclass(slots=True)
class _Set:
    name: str
    shape: Shape
    count: int
    template: Raw
    merged: list[str] = field(default_factory=list)


def request(
    action: RequestProvisioning, workload: Raw, infos: Sequence[Info], parameters: Mapping[str, str]
) -> Iterator[Write]:
    """Write the templates before the request that refers to them; the Workload owns them until the request exists."""
    namespace = workload["metadata"]["namespace"]
    owner = owner_reference(workload, controller=True)
    sets = _merged(list(_sets(action, workload, infos)), action.config.merge)
    for one in sets:
        meta = {
            "name": shortened(f"ppt-{action.name}-{one.name}"),
            "namespace": namespace,
            "labels": {MANAGED: "true"},
            "ownerReferences": [owner],
        }
        yield Create(
            POD_TEMPLATE, {"apiVersion": "v1", "kind": "PodTemplate", "metadata": meta, "template": one.template}
        )
    spec: Raw = {
        "provisioningClassName": action.config.class_name,
        "podSets": [
            {"podTemplateRef": {"name": shortened(f"ppt-{action.name}-{one.name}")}, "count": one.count} for one in sets
        ],
    }
    wanted = {**action.config.parameters, **parameters}
    if wanted:
        spec["parameters"] = wanted
    notes = {
        CHECK: action.check,
        ATTEMPT: str(_attempt(action)),
        POD_SETS: ",".join(one.name for one in sets),
    }
    meta = {
        "name": action.name,
        "namespace": namespace,
        "labels": {MANAGED: "true"},
        "annotations": notes,
        "ownerReferences": [owner],
    }
    kind = PROVISIONING_REQUEST
    yield Create(kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, "spec": spec})


def handed_over(template: Raw, request: Raw) -> Write | None:
    """Make the request the owner of the template, so that they are deleted together; None if it is already."""
    meta, owner = template["metadata"], owner_reference(request, controller=True)
    if [one["uid"] for one in meta.get("ownerReferences") or ()] == [owner["uid"]]:
        return None
    return Update(POD_TEMPLATE, {**template, "metadata": {**meta, "ownerReferences": [owner]}})


def _attempt(action: RequestProvisioning) -> int:
    check = next(one for one in action.workload.status.checks if one.name == action.check)
    return check.retries + 1


def _sets(action: RequestProvisioning, workload: Raw, infos: Sequence[Info]) -> Iterator[_Set]:
    """The pods of each set with what its flavors add; a missing request is filled from the limit."""
    templates = {one.get("name", "main"): one["template"] for one in workload["spec"]["podSets"]}
    by_name = {info.name: info for info in infos}
    shapes = {one.name: one.shape for one in action.workload.request.pod_sets}
    for part in needed(action.workload, action.config):
        info = by_name[part.name]
        template = injected(templates[part.name], info)
        template = template if isinstance(template, dict) else templates[part.name]
        yield _Set(part.name, shapes[part.name], info.count, _with_requests(template))


def _with_requests(template: Raw) -> Raw:
    spec = dict(template["spec"])
    for key in ("initContainers", "containers"):
        if spec.get(key):
            spec[key] = [_filled(one) for one in spec[key]]
    return {**template, "spec": spec}


def _filled(container: Raw) -> Raw:
    resources = container.get("resources") or {}
    limits = resources.get("limits")
    if not limits:
        return container
    return {**container, "resources": {**resources, "requests": {**limits, **(resources.get("requests") or {})}}}


def _merged(sets: list[_Set], policy: str | None) -> list[_Set]:
    """Merge sets that are equivalent under the policy, with the name of the first."""
    kept: list[_Set] = []
    for one in sets:
        twin = next((other for other in kept if _alike(one, other, policy)), None)
        if twin is None:
            kept.append(one)
        else:
            twin.count += one.count
    return kept


def _alike(one: _Set, other: _Set, policy: str | None) -> bool:
    if policy == IDENTICAL_TEMPLATES:
        return _plain(one.template) == _plain(other.template)
    return policy == IDENTICAL_REQUIREMENTS and one.shape.plain == other.shape.plain


def _plain(template: Raw) -> Raw:
    """The template without the name of its pod set, which differs between any two."""
    labels = {
        key: value for key, value in (template["metadata"].get("labels") or {}).items() if key != PREFIX + "podset"
    }
    return {**template, "metadata": {**template["metadata"], "labels": labels}}
