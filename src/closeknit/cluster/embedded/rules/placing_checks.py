"""Validation of a pod's scheduling directives: node selector, affinity, tolerations, spreading, gates.

The rules are those of Kubernetes, each reported at the field where an API server reports it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.field import Field
from ....dialects.node_choice import EFFECTS, FIELD_OPERATORS, LABEL_OPERATORS, NODE_NAME, TOLERATION_OPERATORS
from ....dialects.pod_choice import MAX_WEIGHT, PREFERRED, REQUIRED, UNSATISFIABLE
from ....dialects.selector_checks import SELECTOR_OPERATORS
from ....model.label_names import is_label_value, is_qualified_name
from ....model.shape import whole_number
from .causes import Causes
from .metadata import check_labels

_NAME = "must be a qualified name such as example.com/rack"


def check_placing(spec: Field, causes: Causes) -> None:
    check_labels(spec.at("nodeSelector"), causes)
    affinity = spec.at("affinity")
    _check_node_affinity(affinity.at("nodeAffinity"), causes)
    for key in ("podAffinity", "podAntiAffinity"):
        _check_pod_affinity(affinity.at(key), causes)
    check_tolerations(spec.at("tolerations"), causes)
    for one in spec.at("topologySpreadConstraints").items():
        _check_spread(one, causes)
    _check_gates(spec, causes)


def check_tolerations(tolerations: Field, causes: Causes) -> None:
    for one in tolerations.items():
        key, value, effect = one.at("key"), one.at("value"), one.at("effect")
        operator = one.at("operator").text() or "Equal"
        if key.text() and not is_qualified_name(key.text()):
            causes.invalid(key, _NAME)
        if not key.text() and operator != "Exists":
            causes.invalid(one.at("operator"), "must be Exists when `key` is empty", operator)
        if one.at("tolerationSeconds").given and effect.text() != "NoExecute":
            causes.invalid(effect, "must be NoExecute when `tolerationSeconds` is set")
        if operator == "Exists" and value.text():
            causes.invalid(one.at("operator"), "value must be empty when `operator` is 'Exists'", value.value)
        elif operator == "Equal" and not is_label_value(value.text()):
            causes.invalid(one.at("operator"), "not a label value", value.value)
        elif operator in ("Gt", "Lt") and whole_number(value.text()) is None:
            causes.invalid(value, f"must be a whole number when `operator` is '{operator}'")
        if one.at("operator").text():
            causes.one_of(one.at("operator"), TOLERATION_OPERATORS)
        if effect.text():
            causes.one_of(effect, EFFECTS)


def _check_node_affinity(affinity: Field, causes: Causes) -> None:
    terms = affinity.at(REQUIRED, "nodeSelectorTerms")
    if affinity.at(REQUIRED).given and not terms.items():
        causes.required(terms, "at least one term is required")
    for term in terms.items():
        _check_term(term, causes)
    for one in affinity.at(PREFERRED).items():
        _check_weight(one.at("weight"), causes)
        _check_term(one.at("preference"), causes)


def _check_term(term: Field, causes: Causes) -> None:
    for one in term.at("matchExpressions").items():
        _check_requirement(one, causes, LABEL_OPERATORS)
    for one in term.at("matchFields").items():
        if one.at("operator").text() not in FIELD_OPERATORS:
            causes.invalid(one.at("operator"), "not a valid selector operator")
        elif len(one.at("values").items()) != 1:
            causes.required(one.at("values"), "must have exactly one node name")
        if one.at("key").text() != NODE_NAME:
            causes.invalid(one.at("key"), f"only {NODE_NAME} is supported")


def _check_requirement(one: Field, causes: Causes, operators: Sequence[str]) -> None:
    operator, values = one.at("operator"), one.at("values")
    number = len(values.items())
    if operator.text() not in operators:
        causes.invalid(operator, "not a valid selector operator")
    elif operator.text() in ("In", "NotIn") and not number:
        causes.required(values, "In and NotIn require values")
    elif operator.text() in ("Exists", "DoesNotExist") and number:
        causes.forbidden(values, "Exists and DoesNotExist do not allow values")
    elif operator.text() in ("Gt", "Lt") and number != 1:
        causes.required(values, "Gt and Lt require exactly one number")
    if not is_qualified_name(one.at("key").text()):
        causes.invalid(one.at("key"), _NAME)
    for value in values.items():
        if not is_label_value(value.text()):
            causes.invalid(value, "not a label value")


def check_selector(selector: Field, causes: Causes) -> None:
    """Check a label selector."""
    check_labels(selector.at("matchLabels"), causes)
    for one in selector.at("matchExpressions").items():
        _check_requirement(one, causes, SELECTOR_OPERATORS)


def _check_pod_affinity(affinity: Field, causes: Causes) -> None:
    for term in affinity.at(REQUIRED).items():
        _check_pod_term(term, causes)
    for one in affinity.at(PREFERRED).items():
        _check_weight(one.at("weight"), causes)
        _check_pod_term(one.at("podAffinityTerm"), causes)


def _check_pod_term(term: Field, causes: Causes) -> None:
    check_selector(term.at("labelSelector"), causes)
    check_selector(term.at("namespaceSelector"), causes)
    key = term.at("topologyKey")
    if not key.text():
        causes.required(key, "can not be empty")
    elif not is_qualified_name(key.text()):
        causes.invalid(key, _NAME)


def _check_weight(weight: Field, causes: Causes) -> None:
    if not isinstance(weight.value, int) or isinstance(weight.value, bool) or not 1 <= weight.value <= MAX_WEIGHT:
        causes.invalid(weight, f"must be a number from 1 to {MAX_WEIGHT}", weight.value or 0)


def _check_spread(one: Field, causes: Causes) -> None:
    skew, key = one.at("maxSkew"), one.at("topologyKey")
    if not isinstance(skew.value, int) or skew.value <= 0:
        causes.invalid(skew, "must be greater than 0", skew.value or 0)
    if not key.text():
        causes.required(key, "can not be empty")
    elif not is_qualified_name(key.text()):
        causes.invalid(key, _NAME)
    if one.at("whenUnsatisfiable").text() not in UNSATISFIABLE:
        causes.unsupported(one.at("whenUnsatisfiable"), UNSATISFIABLE)
    check_selector(one.at("labelSelector"), causes)


def _check_gates(spec: Field, causes: Causes) -> None:
    """Check that gates have unique names, and that a gated pod has no node."""
    seen: set[str] = set()
    for gate in spec.at("schedulingGates").items():
        name = gate.at("name").text()
        if not is_qualified_name(name):
            causes.invalid(gate, _NAME, name)
        elif name in seen:
            causes.duplicate(gate, name)
        seen.add(name)
    if seen and spec.at("nodeName").text():
        causes.forbidden(spec.at("nodeName"), "cannot be set while there are scheduling gates")
