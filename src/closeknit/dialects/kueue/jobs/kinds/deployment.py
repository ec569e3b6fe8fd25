"""Deployment: each of its pods waits on its own."""

from __future__ import annotations

from .....model.gates import Gates
from .....model.request import Ranks
from .... import known_fields as known
from ....field import Field
from ....served import Kind
from ... import keys
from .. import marks
from ..raw import Raw, at, put
from ..roles import MAIN, Role
from ..workload_object import WorkloadPriority
from .serving import Serving, marked, replicas, standing_labels

FRAMEWORK = "deployment"


def roles(body: Field) -> list[Role]:
    """One replica: the pods of a Deployment are placed one by one."""
    return [Role(MAIN, 1, body.at("spec", "template"), Ranks(keys.POD_GROUP_INDEX))]


def prepared(raw: Raw, _gates: Gates) -> Raw:
    labels = {marks.MANAGED: "true", **standing_labels(raw)}
    return put(raw, ("spec", "template"), marked(at(raw, "spec", "template"), labels, {marks.PARENT: FRAMEWORK}))


def no_workloads(_raw: Raw, _gates: Gates, _priority: WorkloadPriority) -> tuple[Raw, ...]:
    return ()


def as_it_is(_raw: Raw, pod: Raw) -> Raw:
    return pod


DEPLOYMENT = Serving(
    served=Kind("apps", "v1", "Deployment", "deployments", True, ("deploy",), scale=True, categories=("all",)),
    framework=FRAMEWORK,
    description="Keeps a number of equal pods running, and replaces them when their template changes.",
    roles=roles,
    copies=replicas,
    owner=("Pod", ""),
    fields={"spec": known.DEPLOYMENT},
    prepared=prepared,
    workloads=no_workloads,
    marked=as_it_is,
)
