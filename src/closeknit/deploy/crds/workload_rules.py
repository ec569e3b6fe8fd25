"""The rules of Workloads: most of their spec is immutable once quota is reserved.

A rule about spec and status together is placed at the object itself, so every step into the status may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping

from .rule import TOLERATION, CelRule, stays, when


def _holds(condition: str, of: str) -> str:
    conditions = f"{of}.status.conditions"
    return (
        f"has({of}.status) && has({conditions})"
        f" && {conditions}.exists(c, c.type == '{condition}' && c.status == 'True')"
    )


def _given(*path: str, of: str = "self") -> str:
    """Whether a field is set: _given("status", "admission") == "has(self.status) && has(self.status.admission)"."""
    steps = [".".join((of, *path[: number + 1])) for number in range(len(path))]
    return " && ".join(f"has({one})" for one in steps)


_RESERVED = _holds("QuotaReserved", "self")
_WAS_RESERVED = _holds("QuotaReserved", "oldSelf")
_ASSIGNMENTS = "self.status.admission.podSetAssignments"
_WERE = "oldSelf.status.admission.podSetAssignments"
_IS_POD_SET = "self.spec.podSets.exists(p, p.name == {}.name)"
_STOP = "stop the job first, which releases its quota"

_SAME_POD_SETS = (
    "self.spec.podSets.size() == oldSelf.spec.podSets.size() && self.spec.podSets.all(i, p,"
    " p.name == oldSelf.spec.podSets[i].name && p.count <= oldSelf.spec.podSets[i].count"
    " && p.template == oldSelf.spec.podSets[i].template"
    f" && {stays('minCount', 'p', 'oldSelf.spec.podSets[i]')}"
    f" && {stays('topologyRequest', 'p', 'oldSelf.spec.podSets[i]')})"
)
_SAME_ADMISSION = (
    f"{stays('status.admission.clusterQueue')} && has({_ASSIGNMENTS}) == has({_WERE})"
    f" && (!has({_ASSIGNMENTS}) || {_ASSIGNMENTS}.size() == {_WERE}.size()"
    f" && {_ASSIGNMENTS}.all(i, a, a.name == {_WERE}[i].name && {stays('count', 'a', f'{_WERE}[i]')}"
    f" && {stays('flavors', 'a', f'{_WERE}[i]')} && {stays('resourceUsage', 'a', f'{_WERE}[i]')}))"
)

_WHOLE = (
    CelRule(
        when(_RESERVED, "has(self.status.admission)"),
        "is required while quota is reserved: set it, or set QuotaReserved to False",
        ".status.admission",
        "FieldValueRequired",
    ),
    CelRule(
        when(
            f"{_RESERVED} && has(self.status.admission)",
            f"has({_ASSIGNMENTS}) && {_ASSIGNMENTS}.size() == self.spec.podSets.size()",
        ),
        "must have one entry for each pod set while quota is reserved",
        ".status.admission.podSetAssignments",
    ),
    CelRule(
        when(_given("status", "admission", "podSetAssignments"), f"{_ASSIGNMENTS}.all(a, {_IS_POD_SET.format('a')})"),
        "every entry must name a pod set of the spec",
        ".status.admission.podSetAssignments",
    ),
    CelRule(
        when(
            _given("status", "reclaimablePods"),
            "self.status.reclaimablePods.all(r, self.spec.podSets.exists(p, p.name == r.name && r.count <= p.count))",
        ),
        "every entry must name a pod set of the spec, and at most as many pods as it has",
        ".status.reclaimablePods",
    ),
    CelRule(
        when(
            _given("status", "admissionChecks"),
            "self.status.admissionChecks.all(c, !has(c.podSetUpdates)"
            f" || c.podSetUpdates.all(u, {_IS_POD_SET.format('u')}))",
        ),
        "podSetUpdates must name pod sets of the spec",
        ".status.admissionChecks",
    ),
    CelRule(
        when(_WAS_RESERVED, _SAME_POD_SETS),
        f"cannot be changed while quota is reserved, except to lower the counts of an elastic job: {_STOP}",
        ".spec.podSets",
        "FieldValueForbidden",
    ),
    CelRule(
        when(_WAS_RESERVED, "has(self.spec.priorityClassRef) == has(oldSelf.spec.priorityClassRef)"),
        f"cannot be added or removed while quota is reserved: {_STOP}",
        ".spec.priorityClassRef",
    ),
    *(
        CelRule(
            when(
                f"{_WAS_RESERVED} && has(self.spec.priorityClassRef) && has(oldSelf.spec.priorityClassRef){more}",
                f"self.spec.priorityClassRef.{key} == oldSelf.spec.priorityClassRef.{key}",
            ),
            f"cannot be changed while quota is reserved: {_STOP}",
            f".spec.priorityClassRef.{key}",
        )
        for key, more in (
            ("group", ""),
            ("kind", ""),
            ("name", " && oldSelf.spec.priorityClassRef.group == 'scheduling.k8s.io'"),
        )
    ),
    CelRule(
        when(f"{_WAS_RESERVED} && {_RESERVED}", stays("spec.queueName")),
        f"cannot be changed while quota is reserved: {_STOP}",
        ".spec.queueName",
    ),
    CelRule(
        when(_holds("Admitted", "oldSelf"), stays("spec.maximumExecutionTimeSeconds")),
        f"cannot be changed while the workload is admitted: {_STOP}",
        ".spec.maximumExecutionTimeSeconds",
    ),
    CelRule(
        when(
            f"{_given('status', 'admission')} && {_given('status', 'admission', of='oldSelf')}",
            _SAME_ADMISSION,
        ),
        "cannot be changed, except topologyAssignment: remove it and set a new one",
        ".status.admission",
    ),
    CelRule(
        when(
            f"{_WAS_RESERVED} && {_RESERVED} && has(oldSelf.status.reclaimablePods)",
            "has(self.status.reclaimablePods) && oldSelf.status.reclaimablePods.all(o,"
            " self.status.reclaimablePods.exists(r, r.name == o.name && r.count >= o.count))",
        ),
        "counts cannot decrease while quota is reserved",
        ".status.reclaimablePods",
    ),
    CelRule(
        when(
            f"{_given('status', 'admissionChecks')} && {_given('status', 'admissionChecks', of='oldSelf')}",
            "self.status.admissionChecks.all(c, c.state != 'Ready' || oldSelf.status.admissionChecks.all(o,"
            f" o.name != c.name || o.state != 'Ready' || {stays('podSetUpdates', 'c', 'o')}))",
        ),
        "podSetUpdates cannot be changed while their check is Ready: set it to Pending or Retry first",
        ".status.admissionChecks",
    ),
    CelRule(
        when(
            f"{_given('status', 'clusterName')} && {_given('status', 'clusterName', of='oldSelf')}",
            "self.status.clusterName == oldSelf.status.clusterName",
        ),
        "cannot be changed: clear it first",
        ".status.clusterName",
    ),
    CelRule(
        when(
            f"{_given('status', 'clusterName')} && !({_given('status', 'clusterName', of='oldSelf')})",
            f"{_given('status', 'nominatedClusterNames', of='oldSelf')}"
            " && self.status.clusterName in oldSelf.status.nominatedClusterNames",
        ),
        "must be one of nominatedClusterNames",
        ".status.clusterName",
    ),
)

_ONE_OF = "has(self.universal) != has(self.individual)"
_PLACES = "status.admission.podSetAssignments[].topologyAssignment"

WORKLOAD_RULES: Mapping[str, tuple[CelRule, ...]] = {
    "": _WHOLE,
    "spec": (
        CelRule(
            "!has(self.priorityClassRef) || has(self.priority)",
            "requires a priority: set that of the class",
            ".priorityClassRef",
        ),
        CelRule(
            "self.podSets.filter(p, has(p.minCount)).size() <= 1",
            "only one pod set may have a minCount",
            ".podSets",
        ),
    ),
    "spec.podSets[]": (
        CelRule("!has(self.minCount) || self.minCount <= self.count", "must not exceed count", ".minCount"),
    ),
    "spec.podSets[].topologyRequest": (
        CelRule(
            when("has(self.podSetSliceRequiredTopology)", "has(self.podSetSliceSize)"),
            "requires podSetSliceSize",
            ".podSetSliceRequiredTopology",
        ),
        CelRule(
            when("has(self.podSetSliceSize)", "has(self.podSetSliceRequiredTopology)"),
            "requires podSetSliceRequiredTopology",
            ".podSetSliceSize",
        ),
    ),
    "spec.priorityClassRef": (
        CelRule(
            "(self.group == 'scheduling.k8s.io') == (self.kind == 'PriorityClass')",
            "must be a PriorityClass of scheduling.k8s.io or a WorkloadPriorityClass of kueue.x-k8s.io",
        ),
    ),
    "status": (
        CelRule(
            "!has(self.clusterName) || !has(self.nominatedClusterNames) || self.nominatedClusterNames.size() == 0",
            "cannot be combined with nominatedClusterNames: clear them",
            ".clusterName",
        ),
    ),
    "status.admissionChecks[].podSetUpdates[].tolerations[]": TOLERATION,
    _PLACES: (
        CelRule(
            "self.slices.all(s, s.valuesPerLevel.size() == self.levels.size())",
            "every slice must have values for every level",
            ".slices",
        ),
    ),
    f"{_PLACES}.slices[]": (
        CelRule(
            "!has(self.podCounts.individual) || self.podCounts.individual.size() == self.domainCount",
            "must have one count for every domain",
            ".podCounts.individual",
        ),
        CelRule(
            "self.valuesPerLevel.all(v, !has(v.individual) || v.individual.roots.size() == self.domainCount)",
            "must have one root for every domain",
            ".valuesPerLevel",
        ),
    ),
    f"{_PLACES}.slices[].podCounts": (CelRule(_ONE_OF, "set either universal or individual"),),
    f"{_PLACES}.slices[].valuesPerLevel[]": (CelRule(_ONE_OF, "set either universal or individual"),),
}
