"""RayService: a RayCluster that serves. It is placed from files; the control plane does not run it."""

from __future__ import annotations

from .... import known_fields as known
from ....field import Field
from ....served import Kind
from ..job_kind import ALL_RULES, JobKind
from ..roles import Role
from .ray_cluster import GROUP, cluster_roles, is_elastic


def roles(body: Field) -> list[Role]:
    return cluster_roles(body.at("spec", "rayClusterConfig"), is_elastic(body))


RAY_SERVICE = JobKind(
    served=Kind(GROUP, "v1", "RayService", "rayservices"),
    framework="ray.io/rayservice",
    hosted=False,
    roles=roles,
    rules=ALL_RULES,
    may_be_elastic=True,
    fields={"spec.rayClusterConfig.workerGroupSpecs[]": known.RAY_WORKERS},
)
