"""A case of the corpus: an object, what is done to it, and what every server has to say of the last step.

The same cases are put to the embedded host and to kube-apiserver with our definitions. Verdict, field and what is kept
have to agree; words are not compared. A rule of a definition cannot name the entry of a list: `near` is what it names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from closeknit.cluster.kinds import Kind

Raw = dict[str, Any]
Enforcer = Literal["schema", "rule", "policy", "controller"]


@dataclass(frozen=True)
class Step:
    """A merge patch of the object, or of its status."""

    patch: Raw
    part: Literal["", "status"] = ""


@dataclass(frozen=True)
class Case:
    """`field` is the invalid field of the last step; empty if it is valid. `kept`: what the stored object has besides.

    `by` is what enforces it on Kubernetes: the schema or a rule of the definition, a policy, or only our controller,
    which does not write such an object.
    """

    title: str
    kind: Kind
    body: Raw
    steps: tuple[Step, ...] = ()
    field: str = ""
    near: str = ""
    by: Enforcer = "schema"
    kept: Raw | None = None


@dataclass(frozen=True)
class About:
    """Makes cases of one kind: what is the same for all of them is `body`."""

    kind: Kind
    body: Raw

    def good(self, title: str, kept: Raw | None = None, **spec: Any) -> Case:
        return Case(title, self.kind, self.with_spec(spec), kept=None if kept is None else self.with_spec(kept))

    def bad(self, title: str, field: str, /, near: str = "", by: Enforcer = "schema", **spec: Any) -> Case:
        return Case(title, self.kind, self.with_spec(spec), field=field, near=near, by=by)

    def change(
        self, title: str, before: Raw, after: Raw, field: str = "", near: str = "", by: Enforcer = "rule"
    ) -> Case:
        return Case(title, self.kind, self.with_spec(before), (Step({"spec": after}),), field, near, by)

    def status(self, title: str, *statuses: Raw, field: str = "", near: str = "", by: Enforcer = "schema") -> Case:
        steps = tuple(Step({"status": one}, "status") for one in statuses)
        return Case(title, self.kind, self.with_spec({}), steps, field, near, by)

    def with_spec(self, spec: Raw) -> Raw:
        """None takes away what the body has."""
        merged = {**self.body.get("spec", {}), **spec}
        return {**self.body, "spec": {key: value for key, value in merged.items() if value is not None}}


def titled(cases: Iterable[Case]) -> list[Case]:
    """With the kind in front, so that every title is there once."""
    found = [replace(one, title=f"{one.kind.kind}: {one.title}") for one in cases]
    titles = [one.title for one in found]
    assert len(set(titles)) == len(titles), sorted(one for one in titles if titles.count(one) > 1)
    return found
