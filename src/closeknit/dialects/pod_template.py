"""Validate a pod template's spec and convert it to the shape of its pods; see also `node_choice` and `pod_choice`.

Kubernetes would refuse most of what is refused here, but only when the object is created, and some of it (a
request named `pods`) only when Kueue creates a Workload from it.
"""

from __future__ import annotations

import difflib

import msgspec

from ..model.label_names import is_qualified_name
from ..model.nearest import did_you_mean
from ..model.quantity import QuantityError, milli, nanos
from ..model.resources import ABSURD, CPU, MEMORY, PODS, show
from ..model.shape import Shape
from . import core
from .field import Field, shown
from .known_fields import CONTAINER, NEEDS, POD_SPEC
from .node_choice import check_choice
from .numa_policy import with_policy
from .pod_choice import check_pod_choice
from .pod_rules import with_rules

NAMESPACE = "default"
"""The namespace of templates that are read without a cluster."""
STANDARD = (CPU, MEMORY, "ephemeral-storage")
"""The container resources without a domain prefix, besides huge pages of every size."""

_EXAMPLE = "use a quantity such as 500m, 2 or 1.5Gi"
_EXAMPLES = (*STANDARD, "nvidia.com/gpu", "google.com/tpu")
DEVICES = ("nvidia.com/gpu", "amd.com/gpu", "google.com/tpu", "habana.ai/gaudi", "aws.amazon.com/neuron", "rdma/hca")
"""Common devices. A name that is nearly one of these is probably misspelt: no node has nvidia.com/gpus."""
SLIP = 0.9
"""Similarity to nvidia.com/gpu: 0.97 for nvidia.com/gpus, 0.8 for nvidia.com/gpu.shared."""


def read_template(template: Field) -> Shape | None:
    """The shape of pods of this template, with its rules about other pods and its policy about NUMA zones."""
    shape, metadata = read_shape(template.at("spec")), template.at("metadata")
    if shape is None or not isinstance(template.at("spec").value, dict):
        return shape
    shape = with_policy(shape, metadata.at("annotations").strings())
    try:
        return with_rules(shape, NAMESPACE, metadata.at("labels").strings(), template.at("spec").value)
    except msgspec.ValidationError as error:
        template.at("spec").wrong(f"cannot be read: {error}", "write the fields as the API has them")
        return None


def read_shape(spec: Field) -> Shape | None:
    """The shape of pods of this spec; reports mistakes and returns None if it is invalid."""
    before = spec.report.noted
    containers = spec.at("containers")
    if containers.value in (None, []):
        containers.wrong("is missing", "add at least one container")
    spec.expect(POD_SPEC)
    for container in (*containers.items(), *spec.at("initContainers").items()):
        container.expect(CONTAINER)
        _check_needs(container.at("resources"))
    _check_needs(spec.at("resources"))
    check_quantities(spec.at("overhead"))
    check_choice(spec)
    check_pod_choice(spec)
    if spec.report.noted > before:
        return None
    wire = spec.decode(core.PodSpec)
    return None if wire is None else core.shape(wire)


def _check_needs(resources: Field) -> None:
    """Check that requests and limits are quantities, none is named `pods`, and no request is above its limit."""
    resources.expect(NEEDS)
    for kind in ("requests", "limits"):
        for name, field in resources.at(kind).fields().items():
            _check_kind(name, field)
    requests = check_quantities(resources.at("requests"))
    limits = check_quantities(resources.at("limits"))
    for name, request in requests.items():
        if request > limits.get(name, request):
            resources.at("requests", name).wrong(
                f"is {show(name, request)}, more than its limit of {show(name, limits[name])}",
                "raise the limit or lower the request",
            )


def _check_kind(name: str, field: Field) -> None:
    """Kubernetes refuses `gpu` or `memroy` in a container, but not in a Workload or a custom kind of job."""
    if name == PODS:
        if field.given:
            field.wrong("is counted by the node itself, one per pod", "remove it")
    elif "/" not in name and name not in STANDARD and not name.startswith("hugepages-"):
        remedy = f"use {', '.join(STANDARD)} or a name with a domain, such as nvidia.com/gpu"
        field.warn("is not a resource of containers", did_you_mean(name, _EXAMPLES) + remedy)
    elif name not in DEVICES and (meant := difflib.get_close_matches(name.lower(), DEVICES, n=1, cutoff=SLIP)):
        field.warn("is not a resource that nodes commonly have", f"did you mean {meant[0]}?")


def check_quantities(quantities: Field) -> dict[str, int]:
    """The amounts of a resource list; entries that are not quantities are reported and left out."""
    amounts = {}
    for name, field in quantities.fields().items():
        amount = _amount(name, field)
        if amount is not None:
            amounts[name] = amount
    return amounts


def _amount(name: str, field: Field) -> int | None:
    if not is_qualified_name(name):
        field.wrong(f"{shown(name)} is not the name of a resource", "write one such as cpu or nvidia.com/gpu")
        return None
    if isinstance(field.value, bool) or not isinstance(field.value, (str, int, float)):
        field.wrong(f"is {shown(field.value)}, not a quantity", _EXAMPLE)
        return None
    try:
        exact = nanos(str(field.value))
    except QuantityError as error:
        field.wrong(str(error))
        return None
    except ValueError:  # more digits than Python parses
        field.wrong(f"is {shown(field.value)}, not a quantity", _EXAMPLE)
        return None
    amount = -(-exact // (10**6 if name == CPU else 10**9))
    if exact < 0:
        field.wrong(f"is {field.value}", "use a quantity that is not negative")
    elif amount > ABSURD:
        field.wrong(f"is {shown(field.value)}, more than any machine has", _EXAMPLE)
    elif _is_extended(name) and milli(str(field.value)) % 1000:
        field.wrong(f"is {field.value}, not a whole number", f"{name} comes in whole units: use {amount}")
    else:
        return amount
    return None


def _is_extended(name: str) -> bool:
    """Whether it is an extended resource, with a domain other than Kubernetes' own, which comes in whole units."""
    return "/" in name and "kubernetes.io/" not in name
