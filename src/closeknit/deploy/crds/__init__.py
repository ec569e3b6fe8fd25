"""The CustomResourceDefinitions of Kueue's kinds, for clusters that do not have Kueue's own, and of ours.

Nothing is defined twice: names come from `cluster.kinds`, fields from the tables of the embedded host, limits and
defaults from the dialect. Here is only what definitions add: rules in CEL, columns, descriptions of fields.
"""

from .definition import DEFINED, KUEUE_KINDS, definition, definitions

__all__ = ["DEFINED", "KUEUE_KINDS", "definition", "definitions"]
