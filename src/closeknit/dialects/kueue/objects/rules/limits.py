"""The limits of every field of Kueue's kinds, in one table: length, number of entries, range and pattern.

The table is used twice. `check_limits` validates objects against it, and the CustomResourceDefinitions for a real
cluster are generated from it. In a path, `[]` stands for the items of a list and `{}` for the values of a map. Rules
that relate several fields are in the modules of the kinds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from .....model.label_names import MAX_NAME, MAX_PREFIX, QUALIFIED_NAME, SHORT_NAME, SUBDOMAIN
from ....field import INT32_MAX, Field, shown, step
from ....node_choice import EFFECTS, LABEL_NAME, one_of
from ....selector_checks import SELECTOR_OPERATORS
from ...validation import MAX_GROUP, MAX_INDEX_LABEL, MAX_LEVEL

OPERATORS = ("Equal", "Exists")
"""Operators of tolerations in Kueue's kinds; pods have more."""

NAME_REMEDY = f"use lower-case letters, digits, dashes and dots, at most {MAX_PREFIX} characters"


@dataclass(frozen=True, slots=True)
class TextPattern:
    """A pattern that a string must match as a whole."""

    pattern: str
    text: str
    remedy: str

    def fits(self, value: str) -> bool:
        return _fits(self.pattern, value)


@lru_cache(maxsize=4096)
def _fits(pattern: str, value: str) -> bool:
    """Cached, since few distinct names are checked again and again."""
    return re.fullmatch(pattern, value) is not None


NAME = TextPattern(SUBDOMAIN, "not the name of an object", NAME_REMEDY)
_DNS_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
SHORT = TextPattern(_DNS_LABEL, NAME.text, "use lower-case letters, digits and dashes, at most 63 characters")
POD_SET = TextPattern(
    _DNS_LABEL,
    "not the name of a pod set",
    "use lower-case letters, digits and dashes, at most 63 characters",
)
KIND_NAME = TextPattern("[A-Za-z](?:[-A-Za-z0-9]*[A-Za-z0-9])?", "not the name of a kind", "write one such as Job")
LABEL = TextPattern(QUALIFIED_NAME, "not a label name", LABEL_NAME)
RESOURCE = TextPattern(QUALIFIED_NAME, "not the name of a resource", "write one such as cpu")
LABEL_VALUE = TextPattern(f"(?:{SHORT_NAME})?", "not a label value", "use at most 63 letters, digits, dashes, dots")
REASON = TextPattern("[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?", "not a reason", "write one such as PodsReady")


@dataclass(frozen=True, slots=True)
class Entries:
    """The number of entries of a list or map."""

    most: int
    least: int = 0

    def fits(self, value: Any) -> bool:
        return not isinstance(value, (list, dict)) or self.least <= len(value) <= self.most

    def complain(self, one: Field) -> None:
        if len(one.value) < self.least:
            one.wrong("is empty", "add at least one entry")
        else:
            one.wrong(f"has {len(one.value)} entries", f"use at most {self.most}")


@dataclass(frozen=True, slots=True)
class Text:
    """The length and pattern of a string. An empty string has to match the pattern too."""

    most: int
    least: int = 0
    form: TextPattern | None = None

    def fits(self, value: Any) -> bool:
        if not isinstance(value, str) or not self.least <= len(value) <= self.most:
            return False
        return self.form is None or self.form.fits(value)

    def complain(self, one: Field) -> None:
        value = one.text()
        if not isinstance(one.value, str):
            return
        if len(value) > self.most:
            one.wrong(f"has {len(value)} characters", f"use at most {self.most}")
        elif self.form is not None and not self.form.fits(value):
            one.wrong(f"is {shown(value)}, {self.form.text}", self.form.remedy)
        else:
            one.wrong("is empty", "use a non-empty string")


@dataclass(frozen=True, slots=True)
class OneOf:
    """A string of a closed set."""

    allowed: tuple[str, ...]

    def fits(self, value: Any) -> bool:
        return value in self.allowed

    def complain(self, one: Field) -> None:
        one_of(one, self.allowed)


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number in a range."""

    least: int
    most: int = INT32_MAX

    def fits(self, value: Any) -> bool:
        return type(value) is int and self.least <= value <= self.most

    def complain(self, one: Field) -> None:
        if type(one.value) is int:
            one.wrong(f"is {one.value}", f"use a whole number from {self.least} to {self.most}")
        else:
            one.count()


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity that is not negative; the rules check it with `check_quantity`, since they compare it with others."""

    def fits(self, value: Any) -> bool:
        return True

    def complain(self, one: Field) -> None:
        """Never called: every value fits."""


Limit = Entries | Text | OneOf | Number | Amount

OBJECT = Text(MAX_PREFIX, form=NAME)
_POD_SET = Text(MAX_NAME, form=POD_SET)
_LABEL = Text(MAX_PREFIX + 1 + MAX_NAME, form=LABEL)
_RESOURCE = Text(MAX_PREFIX + 1 + MAX_NAME, form=RESOURCE)
_VALUE = Text(MAX_NAME, form=LABEL_VALUE)
_WORD = Text(MAX_NAME)
_CHECK = Text(316, least=1)
_MESSAGE = Text(32768)
_COUNT = Number(0)
_SOME = Number(1)
MAX_FLAVORS = 64
MAX_POD_SETS = 18
MAX_LEVELS = 16

Limits = Mapping[str, Limit]


def _under(path: str, limits: Limits) -> dict[str, Limit]:
    return {
        f"{path}{'' if one.startswith(('[', '{')) else '.'}{one}" if one else path: of for one, of in limits.items()
    }


_CONDITIONS = _under(
    "status.conditions",
    {
        "": Entries(16),
        "[].type": Text(316, form=LABEL),
        "[].status": OneOf(("True", "False", "Unknown")),
        "[].reason": Text(1024, least=1, form=REASON),
        "[].message": _MESSAGE,
        "[].observedGeneration": Number(0, most=2**63 - 1),
    },
)
_GROUPS = _under(
    "spec.resourceGroups",
    {
        "": Entries(16),
        "[].coveredResources": Entries(64, least=1),
        "[].coveredResources[]": _RESOURCE,
        "[].flavors": Entries(MAX_FLAVORS, least=1),
        "[].flavors[].name": OBJECT,
        "[].flavors[].resources": Entries(64, least=1),
        "[].flavors[].resources[].name": Text(_RESOURCE.most),
        "[].flavors[].resources[].nominalQuota": Amount(),
        "[].flavors[].resources[].borrowingLimit": Amount(),
        "[].flavors[].resources[].lendingLimit": Amount(),
    },
)
_USAGE: dict[str, Limit] = {"": Entries(MAX_FLAVORS), "[].name": OBJECT, "[].resources": Entries(64)}
_USAGES = {**_under("status.flavorsReservation", _USAGE), **_under("status.flavorsUsage", _USAGE)}
_TOLERATIONS: dict[str, Limit] = {
    "": Entries(8),
    "[].key": Text(_LABEL.most, form=TextPattern(f"(?:{QUALIFIED_NAME})?", LABEL.text, LABEL.remedy)),
    "[].operator": OneOf(OPERATORS),
    "[].value": _VALUE,
    "[].effect": OneOf(EFFECTS),
}
_WEIGHT: dict[str, Limit] = {"spec.fairSharing.weight": Amount()}
_REQUEST: dict[str, Limit] = {
    "required": Text(MAX_LEVEL),
    "preferred": Text(MAX_LEVEL),
    "podIndexLabel": Text(MAX_INDEX_LABEL),
    "subGroupIndexLabel": Text(MAX_INDEX_LABEL),
    "subGroupCount": _COUNT,
    "podSetGroupName": Text(MAX_GROUP),
    "podSetSliceRequiredTopology": Text(MAX_LEVEL),
    "podSetSliceSize": _SOME,
    "podsetSliceRequiredTopologyConstraints": Entries(3),
    "podsetSliceRequiredTopologyConstraints[].topology": Text(MAX_LEVEL, least=1),
    "podsetSliceRequiredTopologyConstraints[].size": _SOME,
}
_PLACES: dict[str, Limit] = {
    "levels": Entries(MAX_LEVELS, least=1),
    "levels[]": Text(317),
    "slices": Entries(1000),
    "slices[].domainCount": _SOME,
    "slices[].podCounts.universal": _SOME,
    "slices[].podCounts.individual": Entries(100_000, least=1),
    "slices[].podCounts.individual[]": _SOME,
    "slices[].valuesPerLevel": Entries(MAX_LEVELS, least=1),
    "slices[].valuesPerLevel[].universal": _WORD,
    "slices[].valuesPerLevel[].individual.prefix": _WORD,
    "slices[].valuesPerLevel[].individual.suffix": _WORD,
    "slices[].valuesPerLevel[].individual.roots": Entries(100_000, least=1),
    "slices[].valuesPerLevel[].individual.roots[]": _WORD,
}
_WORKLOAD: dict[str, Limit] = {
    "spec.podSets": Entries(MAX_POD_SETS, least=1),
    "spec.podSets[].name": _POD_SET,
    "spec.podSets[].count": _COUNT,
    "spec.podSets[].minCount": _SOME,
    **_under("spec.podSets[].topologyRequest", _REQUEST),
    "spec.queueName": OBJECT,
    "spec.priorityClassRef.name": Text(MAX_PREFIX, least=1, form=NAME),
    "spec.maximumExecutionTimeSeconds": _SOME,
    "spec.preemptionGates": Entries(8),
    "spec.preemptionGates[].name": Text(MAX_NAME, least=1),
    "status.admission.clusterQueue": OBJECT,
    "status.admission.podSetAssignments": Entries(MAX_POD_SETS),
    "status.admission.podSetAssignments[].name": _POD_SET,
    "status.admission.podSetAssignments[].count": _COUNT,
    "status.admission.podSetAssignments[].flavors{}": OBJECT,
    "status.admission.podSetAssignments[].resourceUsage{}": Amount(),
    **_under("status.admission.podSetAssignments[].topologyAssignment", _PLACES),
    "status.admissionChecks": Entries(8),
    "status.admissionChecks[].name": _CHECK,
    "status.admissionChecks[].message": _MESSAGE,
    "status.admissionChecks[].requeueAfterSeconds": _COUNT,
    "status.admissionChecks[].retryCount": _COUNT,
    "status.admissionChecks[].podSetUpdates": Entries(MAX_POD_SETS),
    "status.admissionChecks[].podSetUpdates[].name": _POD_SET,
    **_under("status.admissionChecks[].podSetUpdates[].tolerations", _TOLERATIONS),
    "status.clusterName": Text(256),
    "status.nominatedClusterNames": Entries(20),
    "status.nominatedClusterNames[]": Text(256),
    "status.preemptionGates": Entries(8),
    "status.preemptionGates[].name": Text(MAX_NAME, least=1),
    "status.reclaimablePods": Entries(MAX_POD_SETS),
    "status.reclaimablePods[].name": _POD_SET,
    "status.reclaimablePods[].count": _COUNT,
    "status.requeueState.count": _COUNT,
    "status.resourceRequests": Entries(MAX_POD_SETS),
    "status.resourceRequests[].name": _POD_SET,
    "status.schedulingStats.evictions": Entries(256),
    "status.schedulingStats.evictions[].reason": Text(316),
    "status.schedulingStats.evictions[].underlyingCause": Text(316),
    "status.schedulingStats.evictions[].count": _COUNT,
    "status.unhealthyNodes": Entries(8),
    "status.unhealthyNodes[].name": _WORD,
    **_CONDITIONS,
}

LIMITS: dict[str, Limits] = {
    "AdmissionCheck": {
        "spec.controllerName": Text(253, least=1),
        "spec.parameters.apiGroup": Text(MAX_PREFIX, least=1, form=NAME),
        "spec.parameters.kind": Text(MAX_NAME, least=1, form=KIND_NAME),
        "spec.parameters.name": Text(MAX_NAME, least=1, form=SHORT),
        **_CONDITIONS,
    },
    "ClusterQueue": {
        **_GROUPS,
        "spec.cohortName": OBJECT,
        "spec.admissionChecksStrategy.admissionChecks": Entries(64, least=1),
        "spec.admissionChecksStrategy.admissionChecks[].name": _CHECK,
        "spec.admissionChecksStrategy.admissionChecks[].onFlavors": Entries(MAX_FLAVORS),
        "spec.admissionChecksStrategy.admissionChecks[].onFlavors[]": OBJECT,
        "spec.concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName": OBJECT,
        "spec.namespaceSelector.matchExpressions[].key": _LABEL,
        "spec.namespaceSelector.matchExpressions[].operator": OneOf(SELECTOR_OPERATORS),
        "spec.namespaceSelector.matchExpressions[].values[]": _VALUE,
        "spec.namespaceSelector.matchLabels{}": _VALUE,
        **_WEIGHT,
        **_USAGES,
        **_CONDITIONS,
    },
    "Cohort": {**_GROUPS, "spec.parentName": OBJECT, **_WEIGHT, **_CONDITIONS},
    "LocalQueue": {"spec.clusterQueue": OBJECT, **_WEIGHT, **_USAGES, **_CONDITIONS},
    "Maintenance": {
        "spec.domains": Entries(256, least=1),
        "spec.domains[].nodeLabels": Entries(16, least=1),
        "spec.domains[].nodeLabels{}": _VALUE,
    },
    "ProvisioningRequestConfig": {
        "spec.provisioningClassName": Text(MAX_PREFIX, least=1, form=NAME),
        "spec.parameters": Entries(100),
        "spec.parameters{}": Text(255),
        "spec.managedResources": Entries(100),
        "spec.managedResources[]": _RESOURCE,
        "spec.retryStrategy.backoffLimitCount": _COUNT,
        "spec.retryStrategy.backoffBaseSeconds": _COUNT,
        "spec.retryStrategy.backoffMaxSeconds": _COUNT,
        "spec.podSetUpdates.nodeSelector": Entries(8),
        "spec.podSetUpdates.nodeSelector[].key": Text(317, least=1, form=LABEL),
        "spec.podSetUpdates.nodeSelector[].valueFromProvisioningClassDetail": Text(32768, least=1),
    },
    "ResourceFlavor": {
        "spec.nodeLabels": Entries(8),
        "spec.nodeLabels{}": _VALUE,
        "spec.nodeTaints": Entries(8),
        "spec.nodeTaints[].key": _LABEL,
        "spec.nodeTaints[].value": _VALUE,
        "spec.nodeTaints[].effect": OneOf(EFFECTS),
        **_under("spec.tolerations", _TOLERATIONS),
        "spec.topologyName": OBJECT,
    },
    "Topology": {
        "spec.levels": Entries(MAX_LEVELS, least=1),
        "spec.levels[].nodeLabel": Text(316, least=1, form=LABEL),
    },
    "Workload": _WORKLOAD,
    "WorkloadPriorityClass": {"description": Text(2048)},
}
"""The limits, by kind and path."""


Way = tuple[Any, ...]


@dataclass(slots=True)
class _Step:
    """A node of the table as a tree, so that the cost of a check depends on the object's size, not the table's."""

    limit: Limit | None = None
    fields: dict[str, _Step] = field(default_factory=dict)
    each: _Step | None = None


def check_limits(one: Field, kind: str) -> None:
    """Report every limit of the kind that the object violates."""
    _check(_tree(kind), one.value, (), one)


def check_limit(limit: Limit, one: Field) -> None:
    if not limit.fits(one.value):
        limit.complain(one)


@cache
def _tree(kind: str) -> _Step:
    root = _Step()
    for path, limit in LIMITS[kind].items():
        here = root
        for word in path.replace("[]", ".[]").replace("{}", ".{}").split("."):
            if word in ("[]", "{}"):
                here.each = here.each or _Step()
                here = here.each
            else:
                here = here.fields.setdefault(word, _Step())
        here.limit = limit
    return root


def _check(at: _Step, value: Any, way: Way, root: Field) -> None:
    """Check a value recursively. `way` is the path from the root, last step first; it is joined only on failure."""
    if at.limit is not None and not at.limit.fits(value):
        at.limit.complain(Field(value, _spelled(way, root.path), root.report))
    if isinstance(value, dict):
        for key, further in at.fields.items():
            if (inner := value.get(key)) is not None:
                _check(further, inner, (key, way), root)
    if at.each is not None and isinstance(value, (list, dict)):
        entries: Iterable[tuple[Any, Any]] = enumerate(value) if isinstance(value, list) else value.items()
        for number, inner in entries:
            if inner is not None:
                _check(at.each, inner, (number, way), root)


def _spelled(way: Way, path: str) -> str:
    if not way:
        return path
    key, rest = way
    before = _spelled(rest, path)
    return f"{before}[{key}]" if isinstance(key, int) else step(before, key)
