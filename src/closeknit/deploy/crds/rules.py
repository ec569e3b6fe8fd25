"""CEL validation rules of the definitions, by kind and path.

A rule is placed at the lowest object that contains all fields it reads, and names the invalid field as exactly as a
definition can: not by the index of an entry. Rules beyond the cost limit of a server are in policies;
`docs/reference/where-rules-are-enforced.md` has the list.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...dialects.kueue.objects.rules.quotas import MAX_IN_ALL, MAX_IN_GROUP
from ...model.topology import HOSTNAME
from .rule import TOLERATION, WEIGHT, CelRule, stays, when
from .workload_rules import WORKLOAD_RULES

Rules = Mapping[str, tuple[CelRule, ...]]

_GROUP = (
    CelRule(
        "self.flavors.all(f, f.resources.map(r, r.name) == self.coveredResources)",
        "every flavor must have one quota for each of coveredResources, in the same order",
        ".flavors",
    ),
    CelRule(
        "self.coveredResources.all(r, self.coveredResources.exists_one(o, o == r))",
        "each resource must be named once",
        ".coveredResources",
    ),
    CelRule(
        f"self.flavors.size() * self.coveredResources.size() <= {MAX_IN_GROUP}",
        f"a group must have at most {MAX_IN_GROUP} quotas",
    ),
)


def _group_rules(lender: str, what: str) -> tuple[CelRule, ...]:
    """The rules for all groups of a queue or cohort: limits require a cohort or parent to borrow from and lend to."""
    every = "self.resourceGroups.all(g, g.flavors.all(f, f.resources.all(r, !has(r.{}))))"
    return (
        *(
            CelRule(
                f"has(self.{lender}) || !has(self.resourceGroups) || {every.format(limit)}",
                f"{limit} requires {what}",
                ".resourceGroups",
                "FieldValueForbidden",
            )
            for limit in ("borrowingLimit", "lendingLimit")
        ),
        *(
            CelRule(
                f"!has(self.resourceGroups) || self.resourceGroups.map(g, g.{part}.size()).sum() <= {MAX_IN_ALL}",
                f"all groups together must have at most {MAX_IN_ALL} {word}",
                ".resourceGroups",
            )
            for part, word in (("flavors", "flavors"), ("coveredResources", "resources"))
        ),
    )


_ONCE = (
    CelRule(
        "self.all(i, g, self.all(j, h, i >= j || !sets.intersects(g.coveredResources, h.coveredResources)))",
        "a resource must be in one group only",
    ),
    CelRule(
        "self.all(i, g, self.all(j, h, i >= j"
        " || !sets.intersects(g.flavors.map(f, f.name), h.flavors.map(f, f.name))))",
        "a flavor must be in one group only",
    ),
)
_LABELS = CelRule(
    "self.all(key, !format.qualifiedName().validate(key).hasValue())",
    "every key must be a label name such as example.com/rack",
)
_GROUPS: Rules = {"spec.resourceGroups[]": _GROUP, "spec.resourceGroups": _ONCE, "spec.fairSharing.weight": (WEIGHT,)}

RULES: dict[str, Rules] = {
    "AdmissionCheck": {
        "spec.controllerName": (CelRule("self == oldSelf", "cannot be changed: create a new AdmissionCheck"),),
    },
    "ClusterQueue": {
        **_GROUPS,
        "spec": (
            *_group_rules("cohortName", "a cohort"),
            CelRule(
                when(
                    "has(self.admissionChecksStrategy) && has(self.resourceGroups) && self.resourceGroups.size() > 0",
                    "[self.resourceGroups.map(g, g.flavors.map(f, f.name)).flatten().transformMapEntry(i, f, {f: i})]"
                    ".all(own, self.admissionChecksStrategy.admissionChecks.all(c,"
                    " !has(c.onFlavors) || c.onFlavors.all(f, f in own)))",
                ),
                "onFlavors must be flavors of this queue",
                ".admissionChecksStrategy.admissionChecks",
            ),
            CelRule(
                stays("concurrentAdmissionPolicy"),
                "cannot be changed: create a new ClusterQueue",
                ".concurrentAdmissionPolicy",
            ),
        ),
        "spec.flavorFungibility": (
            CelRule(
                when(
                    "has(self.preference)",
                    "self.whenCanBorrow == 'TryNextFlavor' && self.whenCanPreempt == 'TryNextFlavor'",
                ),
                "requires whenCanBorrow and whenCanPreempt to be TryNextFlavor",
                ".preference",
            ),
        ),
        "spec.preemption": (
            CelRule(
                when(
                    "has(self.borrowWithinCohort) && has(self.borrowWithinCohort.policy)"
                    " && self.borrowWithinCohort.policy != 'Never'",
                    "has(self.reclaimWithinCohort) && self.reclaimWithinCohort != 'Never'",
                ),
                "preemption while borrowing requires a reclaimWithinCohort other than Never",
                ".borrowWithinCohort.policy",
            ),
        ),
        "spec.namespaceSelector.matchLabels": (_LABELS,),
        "spec.namespaceSelector.matchExpressions[]": (
            CelRule(
                "!(self.operator in ['In', 'NotIn']) || has(self.values) && self.values.size() > 0",
                "In and NotIn require values",
                ".values",
                "FieldValueRequired",
            ),
            CelRule(
                "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || self.values.size() == 0",
                "Exists and DoesNotExist do not allow values",
                ".values",
                "FieldValueForbidden",
            ),
        ),
    },
    "Cohort": {**_GROUPS, "spec": _group_rules("parentName", "a parent")},
    "LocalQueue": {
        "spec.clusterQueue": (CelRule("self == oldSelf", "cannot be changed: create a new LocalQueue"),),
        "spec.fairSharing.weight": (WEIGHT,),
    },
    "Maintenance": {
        "spec": (CelRule("self.until > self.from", "must be after from", ".until"),),
        "spec.domains[].nodeLabels": (_LABELS,),
    },
    "ResourceFlavor": {
        "": (
            CelRule(
                "!has(oldSelf.spec) || !has(oldSelf.spec.topologyName) || has(self.spec)"
                " && has(self.spec.topologyName) && self.spec.topologyName == oldSelf.spec.topologyName",
                "cannot be changed or removed: create a new ResourceFlavor",
                ".spec.topologyName",
            ),
        ),
        "spec": (
            CelRule(
                when("has(self.topologyName)", "has(self.nodeLabels) && self.nodeLabels.size() > 0"),
                "a flavor with a topology must have nodeLabels",
                ".nodeLabels",
                "FieldValueRequired",
            ),
        ),
        "spec.nodeTaints": (
            CelRule(
                "self.all(t, self.exists_one(o, o.key == t.key && o.effect == t.effect))",
                "each pair of key and effect must occur once",
            ),
        ),
        "spec.nodeLabels": (_LABELS,),
        "spec.tolerations[]": TOLERATION,
    },
    "Topology": {
        "spec.levels": (
            CelRule(
                "self.all(l, self.exists_one(o, o.nodeLabel == l.nodeLabel))",
                "each level must be named once",
            ),
            CelRule(
                f"self.all(i, l, l.nodeLabel != '{HOSTNAME}' || i == self.size() - 1)",
                f"{HOSTNAME} can only be the last level",
            ),
            CelRule(
                "self == oldSelf || "
                + " && ".join(f"{one}[{one}.size() - 1].nodeLabel == '{HOSTNAME}'" for one in ("self", "oldSelf")),
                f"can only be changed if {HOSTNAME} is the last level before and after",
            ),
        ),
    },
    "Workload": WORKLOAD_RULES,
}
