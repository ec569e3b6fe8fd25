"""The domains that are left for a group, where the groups beside it have to be in other ones.

What the groups of one parent use is kept up to date with every choice, so that a thousand of them do not look at each
other. Pods that run count, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...state.node_tree import NodeTree
from ...state.table import IntArray
from .below import DomainUse
from .scope import Scope


class ApartDomains:
    """The domains of a level that groups use which have to be apart, or should be where it is not `required`."""

    def __init__(self, apart: tuple[NodeTree, int, bool], running: Iterable[IntArray]) -> None:
        tree, level, self.required = apart
        self.use = DomainUse(tree, level)
        for rows in running:
            self.use.add(rows, 1)

    def beside_others(self, scope: Scope, own: IntArray) -> Scope | None:
        """A scope without the domains of the other groups; None if they use none. `own` are the rows of the group."""
        tree, level = self.use.tree, self.use.level
        self.use.add(own, -1)
        used = self.use.rows > 0
        self.use.add(own, 1)
        return scope.without(tree, level, used) if used.any() else None
