"""The annotation of ours with which pods ask to be aligned on NUMA zones where their kubelet would not insist.

    closeknit.dev/numa-policy: single-numa-node | restricted

On a node whose kubelet has the policy best-effort, such a pod counts only where the kubelet gives it zones that the
policy allows. Kueue's `topologyRequest` has no field for it, so it is read from the template that a Workload carries. A
value that cannot be read counts as absent there: a job with one is refused before it has a Workload.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..model.gates import Gates
from ..model.mistake import Mistake
from ..model.numa import TopologyPolicy
from ..model.shape import Shape
from .field import Field, shown
from .own_marks import NUMA_POLICY

POLICIES: tuple[TopologyPolicy, ...] = ("single-numa-node", "restricted")

_REMEDY = f"use {' or '.join(POLICIES)}, or remove it"


def own_policy(notes: Mapping[str, str]) -> TopologyPolicy | None:
    """The policy that the annotations of a pod ask for."""
    return next((one for one in POLICIES if one == notes.get(NUMA_POLICY)), None)


def with_policy(shape: Shape, notes: Mapping[str, str]) -> Shape:
    """The shape of pods that have these annotations."""
    policy = own_policy(notes)
    return shape if policy == shape.numa_policy else replace(shape, numa_policy=policy)


def policy_mistakes(notes: Mapping[str, str], gates: Gates, at: str = "") -> list[Mistake]:
    """What is wrong with the annotation; nothing while zones do not count, since it is not used then."""
    if "NumaZones" not in gates or NUMA_POLICY not in notes or own_policy(notes):
        return []
    field = f"{at}[{NUMA_POLICY}]" if at else NUMA_POLICY
    return [Mistake(f"is {shown(notes[NUMA_POLICY])}", _REMEDY, field=field)]


def read_policy(shape: Shape, pod: Field) -> Shape:
    """The shape of the pods of a template; reports a bad value."""
    field = pod.at("metadata", "annotations", NUMA_POLICY)
    if field.given and field.value not in POLICIES:
        field.wrong(f"is {shown(field.value)}", _REMEDY)
    return with_policy(shape, pod.at("metadata", "annotations").strings())
