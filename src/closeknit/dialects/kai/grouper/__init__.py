"""The grouper: from a job and its pods to the PodGroups that KAI's pod grouper would make, as pure functions.

    owner chain, pods ──▶ kind ──▶ plan: minimum, sub-groups ──▶ PodGroup, and the pods with its name

With `like_kai` it does as KAI does; otherwise it also keeps together what KAI silently leaves apart.
"""

from .grouping import Grouped, Grouping, group_pods
from .objects import GroupedObjects, group_objects

__all__ = ["Grouped", "GroupedObjects", "Grouping", "group_objects", "group_pods"]
