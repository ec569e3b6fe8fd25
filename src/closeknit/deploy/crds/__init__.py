"""The CustomResourceDefinitions of Kueue's kinds, for clusters that do not have Kueue's own.

Nothing is written down twice: names come from `cluster.kinds`, fields from the tables that the embedded host goes by,
limits and defaults from the dialect. What only definitions have is here: rules in CEL, columns, sentences about fields.
"""

from .definition import KUEUE_KINDS, definition, definitions

__all__ = ["KUEUE_KINDS", "definition", "definitions"]
