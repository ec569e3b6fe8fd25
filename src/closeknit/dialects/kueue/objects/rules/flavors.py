"""The rules for ResourceFlavors."""

from __future__ import annotations

from ....field import Field
from ....node_choice import EFFECTS, LABEL_NAME, check_label, check_toleration, one_of
from .limits import OPERATORS, check_limits


def check_flavor(flavor: Field) -> None:
    """Check labels, taints and tolerations, at most 8 of each; a flavor with a topology requires node labels."""
    check_limits(flavor, "ResourceFlavor")
    spec = flavor.at("spec")
    labels = spec.at("nodeLabels")
    if spec.at("topologyName").text() and not labels.mapping():
        labels.wrong("is required for a flavor with a topology", "set a label that its nodes have")
    for key, field in labels.fields().items():
        check_label(key, field)
    _check_taints(spec.at("nodeTaints"))
    for toleration in spec.at("tolerations").items():
        check_toleration(toleration, OPERATORS)


def _check_taints(taints: Field) -> None:
    seen: set[tuple[str, str]] = set()
    for taint in taints.items():
        key, effect = taint.at("key").text(), taint.at("effect").text()
        if not taint.at("key").given:
            taint.at("key").wrong("is missing", LABEL_NAME)
        one_of(taint.at("effect"), EFFECTS)
        if (key, effect) in seen:
            taint.wrong(f"is a second taint {key}:{effect}", "use each pair of key and effect once")
        seen.add((key, effect))


def check_flavor_update(old: Field, new: Field) -> None:
    """A flavor may get a topology; it cannot be changed or removed afterwards."""
    check_flavor(new)
    before, after = old.at("spec", "topologyName").text(), new.at("spec", "topologyName")
    if before and before != after.text():
        after.wrong(f"cannot be changed from {before}", "create a new ResourceFlavor")
