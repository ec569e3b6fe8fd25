"""Whether a node matches the node selector and the required node affinity of a pod."""

from __future__ import annotations

from ....model.node import Node
from ....model.shape import Requirement, Shape, Term

NAME_FIELD = "metadata.name"


def attracts(node: Node, shape: Shape) -> bool:
    """Whether the node matches the shape's node selector and a term of its affinity."""
    if any(node.labels.get(key) != value for key, value in shape.selector):
        return False
    return shape.required is None or any(meets(node, term) for term in shape.required)


def meets(node: Node, term: Term) -> bool:
    if not term.labels and not term.fields:
        return False
    return all(one.admits(node.labels.get(one.key)) for one in term.labels) and all(
        _names(one, node.name) for one in term.fields
    )


def _names(one: Requirement, name: str) -> bool:
    return one.key == NAME_FIELD and one.operator in ("In", "NotIn") and one.admits(name)
