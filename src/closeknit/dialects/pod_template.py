"""A pod template's spec to the shape of its pods, with every quantity in it looked at.

Kubernetes would refuse most of what is refused here, but only when the object is created, and some of it (a
request named `pods`) only when Kueue makes a Workload of it.
"""

from __future__ import annotations

from ..model.quantity import INT64_MAX, QuantityError, nanos
from ..model.resources import CPU, PODS, show
from ..model.shape import Shape
from . import core
from .field import Field, shown

_EXAMPLE = "give a quantity such as 500m, 2 or 1.5Gi"


def read_shape(spec: Field) -> Shape | None:
    """The shape of pods of this spec; None, with the mistakes noted, if it cannot be read."""
    before = spec.report.noted
    containers = spec.at("containers")
    if containers.value in (None, []):
        containers.wrong("is missing", "give at least one container")
    for container in (*containers.items(), *spec.at("initContainers").items()):
        _check_needs(container.at("resources"))
    _check_needs(spec.at("resources"))
    check_quantities(spec.at("overhead"))
    if spec.report.noted > before:
        return None
    wire = spec.decode(core.PodSpec)
    return None if wire is None else core.shape(wire)


def _check_needs(resources: Field) -> None:
    """Requests and limits are quantities, none is called `pods`, and no request is above its limit."""
    for kind in ("requests", "limits"):
        named = resources.at(kind, PODS)
        if named.given:
            named.wrong("is counted by the node itself, one a pod", "remove it")
    requests = check_quantities(resources.at("requests"))
    limits = check_quantities(resources.at("limits"))
    for name, request in requests.items():
        if request > limits.get(name, request):
            resources.at("requests", name).wrong(
                f"is {show(name, request)}, more than its limit of {show(name, limits[name])}",
                "raise the limit or lower the request",
            )


def check_quantities(quantities: Field) -> dict[str, int]:
    """The amounts of a resource list; what is no quantity is noted and left out."""
    amounts = {}
    for name, field in quantities.fields().items():
        amount = _amount(name, field)
        if amount is not None:
            amounts[name] = amount
    return amounts


def _amount(name: str, field: Field) -> int | None:
    if isinstance(field.value, bool) or not isinstance(field.value, (str, int, float)):
        field.wrong(f"is {shown(field.value)}, not a quantity", _EXAMPLE)
        return None
    try:
        exact = nanos(str(field.value))
    except QuantityError as error:
        field.wrong(str(error))
        return None
    except ValueError:  # more digits than Python reads
        field.wrong(f"is {shown(field.value)}, not a quantity", _EXAMPLE)
        return None
    amount = -(-exact // (10**6 if name == CPU else 10**9))
    if exact < 0:
        field.wrong(f"is {field.value}", "give a quantity that is not negative")
    elif amount > INT64_MAX:
        field.wrong(f"is {shown(field.value)}, more than 64 bits hold", _EXAMPLE)
    else:
        return amount
    return None
