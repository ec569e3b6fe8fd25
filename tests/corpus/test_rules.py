"""On a server that has our definitions, and after the whole corpus: whether it leaves out a rule."""

from __future__ import annotations

from closeknit.deploy.crds.rules import RULES


def test_every_rule_of_a_definition_is_broken_by_a_case(said: dict[str, list[str]]) -> None:
    unbroken = [
        f"{kind} {path}: {rule.message}"
        for kind, rules in RULES.items()
        for path, at_path in rules.items()
        for rule in at_path
        if not any(text.endswith(rule.message) for text in said.get(kind, ()))
    ]
    assert not unbroken, "\n".join(unbroken)
