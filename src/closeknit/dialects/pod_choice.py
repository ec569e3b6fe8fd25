"""Validation of what a pod asks of other pods: pod affinity, anti-affinity and topology spread.

The rules are those of the Kubernetes API. A term without a key, or with an operator that does not exist, would select
nothing, and the pod would wait without a visible reason.
"""

from __future__ import annotations

from ..model.label_names import is_qualified_name
from .field import Field, shown
from .node_choice import LABEL_NAME, one_of
from .selector_checks import check_selector

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
POLICIES = ("Honor", "Ignore")
MAX_WEIGHT = 100
AFFINITY = ("nodeAffinity", "podAffinity", "podAntiAffinity")
TERM = ("labelSelector", "topologyKey", "namespaces", "namespaceSelector", "matchLabelKeys", "mismatchLabelKeys")
SPREAD = (
    "labelSelector",
    "topologyKey",
    "maxSkew",
    "whenUnsatisfiable",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "matchLabelKeys",
)
_KEY = "name the node label whose values are the domains, such as kubernetes.io/hostname"


def check_pod_choice(spec: Field) -> None:
    """Check the pod affinity, pod anti-affinity and topology spread constraints of a pod spec."""
    spec.at("affinity").expect(AFFINITY)
    for name in AFFINITY[1:]:
        affinity = spec.at("affinity", name)
        affinity.expect((REQUIRED, PREFERRED))
        for term in affinity.at(REQUIRED).items():
            _check_term(term)
        for weighted in affinity.at(PREFERRED).items():
            _check_weight(weighted.at("weight"))
            _check_term(weighted.at("podAffinityTerm"))
    seen: set[tuple[str, str]] = set()
    for one in spec.at("topologySpreadConstraints").items():
        _check_spread(one, seen)


def _check_term(term: Field) -> None:
    term.expect(TERM)
    _check_key(term.at("topologyKey"))
    check_selector(term.at("labelSelector"))
    check_selector(term.at("namespaceSelector"))
    _check_keys(term, "matchLabelKeys")
    _check_keys(term, "mismatchLabelKeys")
    both = {one.text() for one in term.at("matchLabelKeys").items()}
    for key in term.at("mismatchLabelKeys").items():
        if key.text() in both:
            key.wrong(f"is {shown(key.text())}, which matchLabelKeys has too", "keep it in one of the two")


def _check_spread(one: Field, seen: set[tuple[str, str]]) -> None:
    one.expect(SPREAD)
    key, otherwise = one.at("topologyKey"), one.at("whenUnsatisfiable")
    _check_key(key)
    _check_number(one.at("maxSkew"), "set how many pods the domains may differ by, at least 1")
    one_of(otherwise, UNSATISFIABLE)
    if one.at("minDomains").given:
        _check_number(one.at("minDomains"), "use at least 1, or remove it")
        if otherwise.text() == "ScheduleAnyway":
            one.at("minDomains").wrong("is not allowed with ScheduleAnyway", "remove it, or use DoNotSchedule")
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if one.at(policy).given:
            one_of(one.at(policy), POLICIES)
    check_selector(one.at("labelSelector"))
    _check_keys(one, "matchLabelKeys")
    pair = key.text(), otherwise.text()
    if all(pair) and pair in seen:
        key.wrong(f"is {shown(key.text())} a second time with {otherwise.text()}", "use each key once for it")
    seen.add(pair)


def _check_key(key: Field) -> None:
    if not key.text():
        key.wrong("is missing", _KEY)
    elif not is_qualified_name(key.text()):
        key.wrong(f"is {shown(key.text())}, not a label name", LABEL_NAME)


def _check_keys(term: Field, name: str) -> None:
    """Check keys whose values are taken from the pod: they are added to the selector, which has to be there."""
    keys, selector = term.at(name).items(), term.at("labelSelector")
    if keys and not selector.given:
        term.at(name).wrong("is not allowed without labelSelector", "add a labelSelector, or remove it")
    for key in keys:
        if not is_qualified_name(key.text()):
            key.wrong(f"is {shown(key.text())}, not a label name", LABEL_NAME)
        elif key.text() in selector.at("matchLabels").mapping():
            key.wrong(f"is {shown(key.text())}, which labelSelector has too", "keep it in one of the two")


def _check_weight(weight: Field) -> None:
    if not _is_number(weight) or not 1 <= weight.value <= MAX_WEIGHT:
        text = f"is {shown(weight.value)}" if weight.given else "is missing"
        weight.wrong(text, f"use a whole number from 1 to {MAX_WEIGHT}")


def _check_number(field: Field, remedy: str) -> None:
    if not _is_number(field) or field.value < 1:
        field.wrong(f"is {shown(field.value)}" if field.given else "is missing", remedy)


def _is_number(field: Field) -> bool:
    return isinstance(field.value, int) and not isinstance(field.value, bool)
