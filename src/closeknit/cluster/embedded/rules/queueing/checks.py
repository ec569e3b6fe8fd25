"""Validation of jobs that may wait in a queue: names, topology, and fields that are immutable while the job runs.

These are the rules of Kueue's webhooks. The dialect has those about topology, names and times, field by field; here is
to which objects they apply, and which changes are allowed when.
"""

from __future__ import annotations

from .....dialects.field import Field
from .....dialects.kueue import keys
from .....dialects.kueue.jobs import marks
from .....dialects.kueue.jobs.kinds import KINDS, Integration
from .....dialects.kueue.jobs.queueing_options import of_job
from .....dialects.kueue.jobs.roles import Role, ValidationRules
from .....dialects.kueue.jobs.train_job import rendered, runtime_of
from .....dialects.kueue.jobs.workload import workload
from .....dialects.kueue.objects.rules.values import check_optional_reference
from .....dialects.kueue.per_replica import order_mistakes, own_mistakes
from .....dialects.kueue.topology_request import AnnotationError, parse_bool
from .....dialects.kueue.validation import (
    Member,
    count_mistakes,
    elastic_mistakes,
    group_mistakes,
    template_mistakes,
)
from .....dialects.numa_policy import policy_mistakes
from .....model.gates import Gates
from .....model.shape import whole_number
from ....kinds import BY_NAME, JOB, POD, TRAIN_JOB, WORKLOAD, Kind
from ...store import Store
from ..causes import Causes
from ..rule import IMMUTABLE
from ..settings import AdmissionSettings
from .managed import has_default_queue, has_job_for_owner, is_held, is_managed_namespace, is_of_daemon_set, job_kind
from .pods import check_pod, check_pod_change
from .serving import check_serving_change, is_serving

AUTOSCALING = "enableInTreeAutoscaling"
"""Allowed only for elastic jobs, which `refusal` checks."""


def check_held(
    store: Store, settings: AdmissionSettings, kind: Kind, old: Field | None, new: Field, causes: Causes
) -> None:
    """Run all checks; `old` is the object before an update, None for a creation."""
    if kind is WORKLOAD:
        if old is None or old.at("spec").value != new.at("spec").value:
            workload(new, settings.gates)
        return
    known = job_kind(settings, kind)
    raw = new.mapping()
    if known is None or not is_managed_namespace(store, settings, raw["metadata"]["namespace"]):
        return
    if kind is POD and is_of_daemon_set(raw):
        return
    if has_job_for_owner(settings, raw) and not new.at("metadata", "annotations", marks.PARENT).given:
        return
    if is_serving(kind):
        check_optional_reference(new.at("metadata", "labels", keys.QUEUE))
    else:
        of_job(new, new, [])
    _check_elastic_kind(known, kind, new, causes)
    _check_topology(store, settings.gates, kind, new)
    if kind is POD:
        check_pod(new, causes)
    if kind is JOB:
        _check_partial(old, new, causes)
    if isinstance(known, Integration) and is_held(settings, raw) and not known.ignored(raw):
        _check_refusal(known, new, causes)
    if old is not None:
        _check_change(store, settings, kind, old, new, causes)


def _check_elastic_kind(known: object, kind: Kind, new: Field, causes: Causes) -> None:
    elastic = new.at("metadata", "annotations", keys.ELASTIC)
    if elastic.value == "true" and not (isinstance(known, Integration) and known.may_be_elastic):
        causes.forbidden(elastic, f"{kind.with_article} cannot be elastic")


def _check_topology(store: Store, gates: Gates, kind: Kind, new: Field) -> None:
    """Run rules 1 to 9, as far as they apply to the kind; none applies to sets with pods checked one by one."""
    if kind is POD:
        annotations = new.at("metadata", "annotations")
        if "TopologyAwareScheduling" in gates:
            new.report.add(template_mistakes(annotations.strings(), gates, annotations.path))
            new.report.add(policy_mistakes(annotations.strings(), gates, annotations.path))
        return
    found = KINDS.get((kind.group, kind.kind))
    body = _body(store, kind, new)
    if found is None or body is None or (is_serving(kind) and found.rules is ValidationRules.NONE):
        return
    roles = found.roles(body)
    members = [Member(role.name, role.count, role.annotations(gates), role.at) for role in roles]
    for member in members:
        new.report.add(template_mistakes(member.annotations, gates, member.at))
        if ValidationRules.COUNT in found.rules:
            new.report.add(count_mistakes(member.annotations, member.count, gates, member.at))
    for role, member in zip(roles, members, strict=True):
        new.report.add(own_mistakes(member.annotations, role.count, role.ranks, gates, member.at))
    annotations = new.at("metadata", "annotations")
    new.report.add(order_mistakes(annotations.strings(), gates, annotations.path))
    if ValidationRules.GROUPS in found.rules:
        new.report.add(group_mistakes(members))
    if ValidationRules.ELASTIC in found.rules:
        _check_elastic(new, roles, gates)


def _body(store: Store, kind: Kind, new: Field) -> Field | None:
    """The object with the templates; for a TrainJob its runtime applied to it. Counts are checked elsewhere."""
    if kind is not TRAIN_JOB:
        return Field.root(new.value)
    wanted = runtime_of(new.mapping())
    source = BY_NAME.get((wanted.group, wanted.kind))
    runtime = None if source is None else store.find(source, wanted.namespace, wanted.name)
    return None if runtime is None else Field.root(rendered(new.mapping(), runtime))


def _check_elastic(new: Field, roles: list[Role], gates: Gates) -> None:
    annotations = new.at("metadata", "annotations").strings()
    for role in roles:
        new.report.add(elastic_mistakes(annotations, role.annotations(gates), gates, role.at))


def _check_partial(old: Field | None, new: Field, causes: Causes) -> None:
    """Check the annotations of partial admission, and that parallelism does not change while the job runs."""
    spec, annotations = new.at("spec"), new.at("metadata", "annotations")
    both, least, number = (
        annotations.at(marks.SAME_COMPLETIONS),
        annotations.at(keys.MIN_PARALLELISM),
        spec.at("parallelism"),
    )
    try:
        same = both.given and parse_bool(both.text())
    except AnnotationError:
        causes.invalid(both, "must be true or false")
        same = False
    if same and spec.at("completionMode").text() != "Indexed":
        causes.invalid(both, "requires completionMode Indexed")
    elif same and spec.at("completions").value != number.value:
        causes.invalid(spec.at("completions"), f"must be equal to parallelism when {marks.SAME_COMPLETIONS} is true")
    if not least.given:
        return
    fewest = whole_number(least.text()) or 0
    judged = old is None or (spec.at("suspend").value is True and not _is_as_few(old, new))
    if judged and not (fewest > 0 and (not isinstance(number.value, int) or fewest < number.value)):
        causes.invalid(least, "must be greater than 0 and less than parallelism")
    running = old is not None and old.at("spec", "suspend").value is not True and spec.at("suspend").value is not True
    if old is not None and running and number.value != old.at("spec", "parallelism").value:
        causes.forbidden(number, "cannot change while a partially admissible job runs")


def _is_as_few(old: Field, new: Field) -> bool:
    """Whether a job that started with its minimum of pods is being suspended without other changes."""
    paths = (("spec", "parallelism"), ("metadata", "annotations", keys.MIN_PARALLELISM))
    return all(old.at(*path).value == new.at(*path).value for path in paths)


def _check_refusal(known: Integration, new: Field, causes: Causes) -> None:
    """Check what the kind's integration refuses; of some kinds that includes their pod sets."""
    refusal = known.refusal(new.mapping())
    path, _, text = refusal.partition(": ")
    if refusal:
        causes.invalid(path, text, None)
    if known.judges_roles:
        body = Field.root(new.value)
        known.roles(body)
        told = [one for one in body.report.mistakes if one.field != path and not one.field.endswith(AUTOSCALING)]
        new.report.add(told)


def _check_change(
    store: Store, settings: AdmissionSettings, kind: Kind, old: Field, new: Field, causes: Causes
) -> None:
    if kind is POD:
        check_pod_change(old, new, causes)
    running = _runs(settings, kind, old, new)
    before, after = old.at("metadata", "labels"), new.at("metadata", "labels")
    queue = after.at(keys.QUEUE)
    if before.at(keys.QUEUE).text() != queue.text():
        if running:
            causes.invalid(queue, IMMUTABLE + " while the job runs", queue.text())
        elif not queue.text() and is_serving(kind):
            causes.invalid(queue, "cannot be removed", "")
        elif not queue.text() and has_default_queue(store, new.at("metadata", "namespace").text()):
            causes.invalid(queue, "cannot be removed in a namespace with a default queue", "")
    _check_class(before.at(keys.PRIORITY_CLASS), after.at(keys.PRIORITY_CLASS), running, causes)
    for key in (keys.PREBUILT, keys.MAX_SECONDS):
        if running and before.at(key).text() != after.at(key).text():
            causes.invalid(after.at(key), IMMUTABLE + " while the job runs", after.at(key).text())
    elastic = new.at("metadata", "annotations", keys.ELASTIC)
    if (old.at("metadata", "annotations", keys.ELASTIC).value == "true") != (elastic.value == "true"):
        causes.invalid(elastic, IMMUTABLE, elastic.value or "")
    if is_held(settings, new.mapping()):
        check_serving_change(kind, old, new, causes)


def _check_class(old: Field, new: Field, running: bool, causes: Causes) -> None:
    """The priority class may be changed, but not removed, nor added to a running job."""
    if old.text() and not new.text():
        causes.invalid(new, "cannot be removed", "")
    elif running and not old.text() and new.text():
        causes.invalid(new, "cannot be added to a running job", new.text())


def _runs(settings: AdmissionSettings, kind: Kind, old: Field, new: Field) -> bool:
    """Whether the job runs: it is not suspended, or has ready replicas."""
    known = job_kind(settings, kind)
    if isinstance(known, Integration):
        return not known.is_suspended(new.mapping())
    ready = old.at("status", "readyReplicas").value
    return isinstance(ready, int) and ready > 0
