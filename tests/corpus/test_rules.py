"""On a server that has our definitions, and after the whole corpus: whether it leaves out a rule."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

from closeknit.deploy.crds.rules import RULES
from closeknit.deploy.policies import AdmissionSettings, policies
from corpus.conftest import POLICIES

LITERAL = r'"(?:[^"\\]|\\.)*"'
LAST = re.compile(rf"(?:(?:^| \+ ){LITERAL})+$")
VALIDATING = "ValidatingAdmissionPolicy"
TRUSTED = "only the controller and the accounts in trustedAccounts of its configuration may do this"
UNBROKEN = {
    **{
        (policy, TRUSTED): "the corpus is sent by an administrator; tests/real/test_tenants.py has other users"
        for policy in ("trust-status", "trust-workloads", "trust-gates")
    },
    ("leaderworkersets", "one of the two pod sets must have 1 pod"): "its leader is always one pod",
    ("trial", "closeknit-controller may only create a Job as a dry run"): "concerns its account only",
}
"""Rules that no case can break, by policy and the end of the message, with the reason."""


def test_every_rule_of_a_definition_is_broken_by_a_case(said: dict[str, list[str]]) -> None:
    unbroken = [
        f"{kind} {path}: {rule.message}"
        for kind, rules in RULES.items()
        for path, at_path in rules.items()
        for rule in at_path
        if not any(text.endswith(rule.message) for text in said.get(kind, ()))
    ]
    assert not unbroken, "\n".join(unbroken)


@pytest.mark.skipif(not os.environ.get(POLICIES), reason="policies are not installed")
def test_every_rule_of_a_policy_is_broken_by_a_case(said: dict[str, list[str]]) -> None:
    denied = [text for some in said.values() for text in some]
    unbroken = [
        f"{name}: {told}"
        for name, told in rules()
        if not any(f"Policy '{name}'" in text and text.endswith(told) for text in denied) and not is_excused(name, told)
    ]
    assert not unbroken, "\n".join(unbroken)


def rules() -> list[tuple[str, str]]:
    """Of every validation its policy, and how the refusal ends; not of policies that only warn."""
    made = policies(AdmissionSettings())
    denying = {one["spec"]["policyName"] for one in made if one["spec"].get("validationActions") == ["Deny"]}
    found = [one for one in made if one["kind"] == VALIDATING and one["metadata"]["name"] in denying]
    return [(one["metadata"]["name"], ending(rule)) for one in found for rule in one["spec"]["validations"]]


def ending(rule: dict[str, Any]) -> str:
    """The message, or what an expression for it ends with: `… .at + "[kueue.x-k8s.io/…]" + ": is not …"`."""
    if "messageExpression" not in rule:
        return str(rule["message"])
    last = LAST.search(rule["messageExpression"])
    assert last, rule
    return "".join(json.loads(one) for one in re.findall(LITERAL, last[0]))


def is_excused(name: str, told: str) -> bool:
    return any(name == f"closeknit-{policy}" and told.endswith(end) for policy, end in UNBROKEN)
