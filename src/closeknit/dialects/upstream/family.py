"""Which group is below which: CompositePodGroups and PodGroups by the parents that they name."""

from __future__ import annotations

from collections.abc import Sequence

from ..field import Field
from ..gang_reading import by, by_namespace, near
from ..group_pods import key_of

COMPOSITE = "CompositePodGroup"
PARENT = "parentCompositePodGroupName"
DEEPEST = 4
"""The most CompositePodGroups above one another, as in Kubernetes."""
LONGEST_WAY = 1000
"""How far a way up is followed; a longer one is too deep anyway."""


def parent_of(one: Field) -> str:
    """namespace/name of the group above; empty if there is none."""
    name = one.at("spec", PARENT).text()
    return f"{key_of(one).partition('/')[0]}/{name}" if name else ""


class GroupFamily:
    def __init__(self, groups: Sequence[Field]) -> None:
        self._groups = groups
        self._composites = self.names(COMPOSITE)
        self._above = {key: parent_of(one) for key, one in self._composites.items()}
        self._children = by(groups, parent_of)

    def names(self, kind: str) -> dict[str, Field]:
        """The groups of a kind by namespace/name."""
        return {key_of(one): one for one in reversed(self._groups) if one.at("kind").text() == kind}

    def children(self, one: Field) -> Sequence[Field]:
        return self._children.get(key_of(one), ()) if one.at("kind").text() == COMPOSITE else ()

    def tree(self, root: Field) -> list[Field]:
        """The group and all groups below it."""
        found = [root]
        for one in found:  # grows while it is read
            found += self.children(one)
        return found

    def check(self) -> None:
        """Report parents that do not exist, cycles, and trees that are too deep."""
        names = by_namespace(self._composites)
        for one in self._groups:
            above, field = parent_of(one), one.at("spec", PARENT)
            if above and above not in self._composites:
                meant = near(field.text(), names.get(above.partition("/")[0], ()))
                field.wrong(f"there is no {COMPOSITE} {field.text()}", f"{meant}create it, or correct the name")
            elif above:
                self._check_way(one, field)

    def _check_way(self, one: Field, field: Field) -> None:
        """Follow the parents by their keys: a way up may be long, and is followed for every group on it."""
        is_composite = one.at("kind").text() == COMPOSITE
        start = key_of(one) if is_composite else ""
        way, seen, above = [start] if is_composite else [], {start}, parent_of(one)
        while above in self._composites and above not in seen and len(way) < LONGEST_WAY:
            way.append(above)
            seen.add(above)
            above = self._above[above]
        if is_composite and above == start:
            names = [key.partition("/")[2] for key in way]
            if names[0] == min(names):
                text = f"makes a cycle: {' in '.join((*names, names[0]))}"
                field.wrong(text, "remove one of these parents")
        elif (above not in self._composites or len(way) == LONGEST_WAY) and len(way) > DEEPEST:
            field.wrong(f"has {len(way)} nested {COMPOSITE}s", f"nest at most {DEEPEST}")
