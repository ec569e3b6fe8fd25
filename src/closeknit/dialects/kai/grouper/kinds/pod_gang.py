"""PodGang of Grove: its pod groups are sub-groups, and groups of them with a constraint are sub-groups around these.

It lists its pods by name; a pod names its gang in a label, and the gang is not among the pod's owners.
"""

from __future__ import annotations

from ....field import Field
from ....grove.pod_gangs import FIELDS
from ....strictness import check_fields
from ... import keys
from ..plan import GroupKind, GroupPlan, Owned, PlannedGroup, Raw, constraint, name_of, notes

GROVE = "scheduler.grove.io"
GANG_LABEL = "grove.io/podgang"
TOPOLOGY = "grove.io/topology-name"


def plan(owned: Owned) -> GroupPlan:
    spec, marks = owned.owner.at("spec"), notes(owned.owner)
    check_fields(spec, FIELDS)
    if not spec.at("podgroups").items():
        spec.at("podgroups").wrong("is missing", "list the groups of pods, each with name and podReferences")
    topology = marks.at(TOPOLOGY) if marks.at(TOPOLOGY).text() else owned.note(keys.TOPOLOGY)
    parents: list[PlannedGroup] = []
    around: dict[str, str] = {}
    for config in spec.at("topologyConstraintGroupConfigs").items():
        members = [name.text() for name in config.at("podGroupNames").items()]
        if members:
            name = config.at("name").text()
            parents.append(PlannedGroup(name, min_sub_group=len(members), constraint=_pack(config, topology)))
            around |= dict.fromkeys(members, name)
    leaves: list[PlannedGroup] = []
    joins: dict[str, str] = {}
    for group in spec.at("podgroups").items():
        name = group.at("name").text()
        least = group.at("minReplicas").count(1, least=1)
        leaves.append(PlannedGroup(name, around.pop(name, ""), least, constraint=_pack(group, topology)))
        joins |= {pod.at("name").text(): name for pod in group.at("podReferences").items()}
    for name in around:
        field = spec.at("topologyConstraintGroupConfigs")
        field.wrong(f'names the pod group "{name}", which the gang does not have', "correct its name")
    return GroupPlan(
        sum(entry.min_member or 0 for entry in leaves),
        entries=(*parents, *leaves),
        join=lambda pod: joins.get(name_of(pod), ""),
        constraint=_pack(spec, topology),
    )


def _pack(of: Field, topology: Field) -> Raw | None:
    pack = of.at("topologyConstraint", "packConstraint")
    required, preferred = pack.at("required").text(), pack.at("preferred").text()
    if not required and not preferred:
        return None
    if not topology.text():
        pack.wrong("names a level without a topology", f"add the annotation {TOPOLOGY} to the gang")
    return constraint(topology.text(), required, preferred)


def priority(owner: Field) -> Field:
    return owner.at("spec", "priorityClassName")


POD_GANG = GroupKind(plan=plan, priority_at=priority)
