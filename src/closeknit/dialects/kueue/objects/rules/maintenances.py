"""The rules for Maintenances, a kind of our own."""

from __future__ import annotations

from .... import timestamps
from ....field import Field
from ....maintenance import KIND, MaintenanceSpec, WireDomain
from ....node_choice import check_label
from .limits import check_limits
from .values import check_given, check_spelling

TIME_REMEDY = "write a time such as 2026-01-31T22:00:00Z"


def check_maintenance(window: Field) -> None:
    """Check the domains, each by at least one label, and the times."""
    check_limits(window, KIND)
    spec = window.at("spec")
    check_spelling(spec, MaintenanceSpec)
    check_given(spec.at("domains"))
    for domain in spec.at("domains").items():
        check_spelling(domain, WireDomain)
        _check_labels(domain.at("nodeLabels"))
    begins, ends = _time(spec.at("from")), _time(spec.at("until"))
    if begins is not None and ends is not None and ends <= begins:
        spec.at("until").wrong("is not after spec.from", "set a later time")


def _check_labels(labels: Field) -> None:
    if not labels.mapping():
        labels.wrong("is empty", "name the labels of the nodes, such as example.com/rack: r7")
    for key, field in labels.fields().items():
        check_label(key, field)


def _time(field: Field) -> float | None:
    if not field.given:
        field.wrong("is missing", TIME_REMEDY)
        return None
    try:
        return timestamps.parse(field.text())
    except ValueError:
        field.wrong(f'is "{field.text()}", not a time with an offset from UTC', TIME_REMEDY)
        return None
