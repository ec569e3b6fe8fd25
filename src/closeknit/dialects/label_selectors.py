"""Label selectors of Kubernetes, `matchLabels` and `matchExpressions`, as values that match labels."""

from __future__ import annotations

from ..model.cluster_queue import Selector
from ..model.shape import Requirement
from .field import Field
from .selector_checks import check_selector


def read_selector(selector: Field) -> Selector:
    """The selector; reports what Kubernetes would refuse. An empty one matches all labels."""
    check_selector(selector)
    labels = (Requirement(key, "In", (value,)) for key, value in selector.at("matchLabels").strings().items())
    expressions = (
        Requirement(one.at("key").text(), one.at("operator").text(), tuple(v.text() for v in one.at("values").items()))
        for one in selector.at("matchExpressions").items()
    )
    return Selector((*labels, *expressions))
