"""The demos that ship, by name: `closeknit up --demo NAME` plays them."""

from __future__ import annotations

from . import first_steps, gpu_block, node_failure, numa, provisioning, rank_drift
from .demo import Demo

DEMOS: dict[str, Demo] = {
    one.name: one
    for one in (
        *(first_steps.DEMO, node_failure.DEMO, rank_drift.DEMO),
        *(gpu_block.DEMO, provisioning.DEMO, numa.DEMO),
    )
}
