"""The `exclusive-topology` annotations of LeaderWorkerSet and JobSet: each replica in a domain of its own.

Each replica requires the level, and replicas are kept apart at it. KAI ignores these annotations, and its PodGroup
has no field for the second part: an annotation of ours says it.
"""

from __future__ import annotations

from ...field import Field
from ..keys import TOPOLOGY
from .plan import Owned, Raw, constraint


def exclusive_constraint(owned: Owned, level: Field) -> Raw | None:
    """The constraint of each replica; reports a mistake and returns None if it is not clear which topology is meant.

    The annotation names a node label and no topology: the job names one, or only one of those known has the level.
    """
    named = owned.note(TOPOLOGY).text()
    known = [name for name, topology in owned.topologies.items() if level.text() in topology.levels]
    if not named and len(known) != 1:
        found = f"{', '.join(known)} have" if known else "no known Topology has"
        level.wrong(f'is "{level.text()}", and {found} that level', f"name the topology: {TOPOLOGY}")
        return None
    return constraint(named or known[0], level.text(), "")
