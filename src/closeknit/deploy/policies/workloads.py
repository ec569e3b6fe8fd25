"""Rules for Workloads and queues that their definitions cannot contain.

Rules of a definition see neither annotations nor the content of a pod template, and comparing quantities in lists three
levels deep exceeds their cost limit. A policy has no such limits.
"""

from __future__ import annotations

from ...cluster.embedded.rules.settings import AdmissionSettings
from ...cluster.kinds import CLUSTER_QUEUE, WORKLOAD
from ...dialects.cel import IS_UPDATE, PolicyCheck, all_of, any_of, at, is_label_name, negated, note, same, text, when
from ...dialects.kueue import keys
from .conditions import IS_STAYING, UNTOUCHED
from .policy import CREATE, UPDATE, AdmissionPolicy, Mutating, Validating
from .standing import field_of

_SETS = "spec.podSets"
_EACH = at(_SETS, "[]")
_ELASTIC = f'{note(keys.ELASTIC)} == "true"'
_CHANGED = {UNTOUCHED: IS_STAYING, "changed": "oldObject == null || object.?spec != oldObject.?spec"}
_ADMITTED = {"changed": negated(same("status.admission"))}
"""Skip writes that do not change the spec, as most writes of a status."""
_VALUE = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"


def policies(settings: AdmissionSettings) -> list[AdmissionPolicy]:
    both = (CREATE, UPDATE)
    found: list[AdmissionPolicy] = [
        Validating(
            WORKLOAD.plural,
            [WORKLOAD],
            both,
            _CHANGED,
            _variables(),
            everywhere=True,
            checks=[*_templates(), *_counts()],
        ),
        Validating(
            "workloads-gates", [WORKLOAD], (UPDATE,), {UNTOUCHED: IS_STAYING}, everywhere=True, checks=[_gated_by()]
        ),
        Validating(
            "workloads-status",
            [WORKLOAD],
            (UPDATE,),
            _ADMITTED,
            everywhere=True,
            checks=[_shared()],
            subresource="status",
        ),
        Validating(CLUSTER_QUEUE.plural, [CLUSTER_QUEUE], both, _CHANGED, everywhere=True, checks=[_lending()]),
    ]
    if "PartialAdmission" not in settings.gates:
        found.append(Mutating(WORKLOAD.plural, [WORKLOAD], everywhere=True, patches=_whole()))
    return found


def _variables() -> dict[str, str]:
    """Maps inside templates as `[{at, entries}, …]`: labels, annotations, and resources of containers."""
    path = f'{text(f"{_SETS}[")} + string(i) + "].template'
    meta = {key: f"p.template.?metadata.?{key}.orValue({{}})" for key in ("labels", "annotations")}
    found = {
        key: f'{_EACH}.transformList(i, p, {{"at": dyn({path}.metadata.{key}"), "of": dyn({value})}})'
        for key, value in meta.items()
    }
    return {**found, "asked": " + ".join([_container("containers"), _container("initContainers"), _whole_pod()])}


def _container(key: str) -> str:
    path = f'{text(f"{_SETS}[")} + string(i) + "].template.spec.{key}[" + string(j) + "].resources'
    amounts = ", ".join(
        f'{{"at": dyn({path}.{part}"), "of": dyn({at(f"resources.{part}", "{}", "c")})}}'
        for part in ("requests", "limits")
    )
    inner = f"p.template.?spec.?{key}.orValue([]).transformList(j, c, [{amounts}]).flatten()"
    return f"{_EACH}.transformList(i, p, {inner}).flatten()"


def _whole_pod() -> str:
    path = f'{text(f"{_SETS}[")} + string(i) + "].template.spec.resources'
    amounts = ", ".join(
        f'{{"at": dyn({path}.{part}"), "of": dyn(p.template.?spec.?resources.?{part}.orValue({{}}))}}'
        for part in ("requests", "limits")
    )
    return f"{_EACH}.transformList(i, p, [{amounts}]).flatten()"


def _entries(variable: str, wrong: str, message: str) -> PolicyCheck:
    """A check of all entries of the maps; `wrong` is an expression about the key `k` and the value `v`."""
    bad = f"variables.{variable}.filter(m, m.of.exists(k, v, {wrong}))"
    first = f"{bad}[0].at + '.' + {bad}.map(m, m.of.transformList(k, v, {wrong}, k))[0][0]"
    return PolicyCheck(f"variables.{variable}.all(m, m.of.all(k, v, !({wrong})))", first, message, computed=True)


def _templates() -> list[PolicyCheck]:
    """Checks for what pods cannot have, and for the resource `pods`, which is counted and never requested."""
    value = f"v.size() > 63 || !v.matches({text(_VALUE)})"
    negative = all_of('type(v) == string ? v.startsWith("-") : v < 0', 'k != "pods"')
    return [
        _entries("labels", any_of(negated(is_label_name("k")), value), "is not a label that a pod can have"),
        _entries("annotations", negated(is_label_name("k.lowerAscii()")), "is not the name of an annotation"),
        _entries("asked", 'k == "pods"', "cannot be requested or limited; remove it"),
        _entries("asked", negative, "is negative; use a quantity that is not"),
    ]


def _counts() -> list[PolicyCheck]:
    bad = f"{_EACH}.transformList(i, p, has(p.minCount), i)[0]"
    reserved = 'oldObject.?status.?conditions.orValue([]).exists(c, c.type == "QuotaReserved" && c.status == "True")'
    lowered = (
        f"{_EACH}.size() == {at(_SETS, '[]', 'oldObject')}.size()"
        f" && {_EACH}.exists(i, p, p.count < oldObject.spec.podSets[i].count)"
    )
    return [
        PolicyCheck(
            when(_ELASTIC, f"{_EACH}.all(p, !has(p.minCount))"),
            f'{text(f"{_SETS}[")} + string({bad}) + "].minCount"',
            f"is not allowed in an elastic job; remove it, or the annotation {keys.ELASTIC}",
            computed=True,
        ),
        PolicyCheck(
            when(all_of(IS_UPDATE, reserved, lowered), _ELASTIC),
            _SETS,
            "cannot be changed while quota is reserved; stop the job first, which releases its quota",
        ),
    ]


def _gated_by() -> PolicyCheck:
    """A check that gates are set when a Workload is created, and afterwards only removed."""
    before, after = (
        f'{note(keys.GATED_BY, of)}.split(",").map(g, g.trim()).filter(g, g != "")' for of in ("oldObject", "object")
    )
    message = "cannot gain gates; set all of them when the Workload is created"
    return PolicyCheck(f"sets.contains({before}, {after})", field_of(keys.GATED_BY, "annotations"), message)


def _shared() -> PolicyCheck:
    """A check that usage divides evenly among the pods of a set; cpu in thousandths, all else in units."""
    at_fault = at("status.admission.podSetAssignments", "[]")
    usage, count = at("resourceUsage", "{}", "a"), at("count", "0", "a")
    amount = "quantity(string(v))"
    units = f"{amount}.isInteger() && {amount}.asInteger() % {count} != 0"
    thousandths = f"int({amount}.asApproximateFloat() * 1000.0 + 0.5) % {count} != 0"
    wrong = all_of(f"{count} > 0", "isQuantity(string(v))", f'k == "cpu" ? {thousandths} : ({units})')
    bad = f"{at_fault}.transformList(i, a, {usage}.exists(k, v, {wrong}), i)[0]"
    name = f"{at('status.admission.podSetAssignments', '[]')}[{bad}]"
    key = f"{name}.resourceUsage.transformList(k, v, {wrong.replace(count, at('count', '0', name))}, k)[0]"
    field = f'"status.admission.podSetAssignments[" + string({bad}) + "].resourceUsage." + {key}'
    message = "cannot be divided evenly among the pods of the assignment; use a multiple of the count"
    return PolicyCheck(f"{at_fault}.all(a, !{usage}.exists(k, v, {wrong}))", field, message, computed=True)


def _lending() -> PolicyCheck:
    """A check that a queue lends at most its nominal quota."""
    over = "has(r.lendingLimit) && quantity(string(r.lendingLimit)).isGreaterThan(quantity(string(r.nominalQuota)))"
    groups = at("spec.resourceGroups", "[]")
    path = (
        '"spec.resourceGroups[" + string(i) + "].flavors[" + string(j) + "].resources[" + string(k) + "].lendingLimit"'
    )
    paths = (
        f"{groups}.transformList(i, g, g.flavors.transformList(j, f, f.resources.transformList(k, r, {over}, {path}))"
        ".flatten()).flatten()"
    )
    return PolicyCheck(
        f"{paths}.size() == 0", f"{paths}[0]", "is more than nominalQuota; lend at most that", computed=True
    )


def _whole() -> str:
    """Patches that remove minCount: without partial admission a job starts with all of its pods or not at all."""
    patch = 'JSONPatch{op: "remove", path: "/spec/podSets/" + string(i) + "/minCount"}'
    listed = f"(type({_EACH}) == list ? {_EACH} : [])"
    return f"{listed}.transformList(i, p, p.?minCount.hasValue(), {patch})"
