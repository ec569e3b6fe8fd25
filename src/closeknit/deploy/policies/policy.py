"""Policies and their bindings as values, and as the objects for a server.

Pitfalls that shaped them:

* If the matchConditions of a mutating policy do not hold in the first round, it is not evaluated again in the second,
  whatever other policies have changed meanwhile. So matchConditions contain only what no policy changes; whether there
  is something to do is decided in the mutation, which then changes nothing.
* Policies run in no defined order. There are two rounds, so a policy may depend on what another one sets by itself, but
  not on a chain of them: a policy that sets a default sets it in all places.
* A variable keeps its value through all mutations of a policy. So each has one mutation only.
* Validating policies see an object that is valid by its schema; mutating ones see it before that.
* A server reports only the first error, without a field, so a message begins with the field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...cluster.embedded.rules.settings import AdmissionSettings
from ...cluster.kinds import Kind
from ...dialects.cel import PolicyCheck
from ...model.settings import NAMESPACE_NAME

Raw = dict[str, Any]

API = "admissionregistration.k8s.io/v1"
PREFIX = "closeknit-"
CREATE, UPDATE = "CREATE", "UPDATE"
DENY, WARN = "Deny", "Warn"


@dataclass(frozen=True, slots=True)
class Param:
    """The parameter of a policy; if no object of that name exists, the policy does nothing.

    A namespaced one is looked up in the object's namespace. A server may notice a new kind up to thirty seconds late,
    and until then cannot evaluate a policy with a parameter of it. No such object can exist yet, so the policy is
    skipped (`failurePolicy: Ignore`): otherwise an installation would block the creation of all jobs and pods.
    """

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """What both types have in common: the kinds they match, in managed namespaces or cluster-scoped.

    `conditions` and `variables` are expressions by name; a variable may use those before it. `labels` are required of
    an object; `only_in` is one namespace, managed or not.
    """

    name: str
    kinds: Sequence[Kind]
    operations: Sequence[str] = (CREATE,)
    conditions: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    param: Param | None = None
    everywhere: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    only_in: str = ""

    def spec(self, settings: AdmissionSettings) -> Raw:
        constraints: Raw = {"resourceRules": [_rule(one, self.operations) for one in self.kinds]}
        if self.labels:
            constraints["objectSelector"] = {"matchLabels": dict(self.labels)}
        if self.only_in:
            constraints["namespaceSelector"] = {"matchLabels": {NAMESPACE_NAME: self.only_in}}
        elif not self.everywhere:
            constraints["namespaceSelector"] = _selector(settings)
        spec: Raw = {"failurePolicy": "Ignore" if self.param else "Fail", "matchConstraints": constraints}
        if self.param is not None:
            spec["paramKind"] = {"apiVersion": self.param.kind.api_version, "kind": self.param.kind.kind}
        if self.conditions:
            spec["matchConditions"] = _named(self.conditions)
        if self.variables:
            spec["variables"] = _named(self.variables)
        return spec

    def binding(self, kind: str, **more: Any) -> Raw:
        spec: Raw = {"policyName": PREFIX + self.name, **more}
        if self.param is not None:
            spec["paramRef"] = {"name": self.param.name, "parameterNotFoundAction": "Allow"}
        return _object(f"{kind}Binding", self.name, spec)


@dataclass(frozen=True, slots=True)
class Mutating(AdmissionPolicy):
    """`patches` is an expression for a list of JSONPatch, empty where there is nothing to do."""

    patches: str = "[]"

    def objects(self, settings: AdmissionSettings) -> Iterable[Raw]:
        mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": self.patches}}
        spec = {**self.spec(settings), "reinvocationPolicy": "IfNeeded", "mutations": [mutation]}
        yield _object("MutatingAdmissionPolicy", self.name, spec)
        yield self.binding("MutatingAdmissionPolicy")


@dataclass(frozen=True, slots=True)
class Validating(AdmissionPolicy):
    """`action` is what the server does with an invalid object."""

    checks: Sequence[PolicyCheck] = ()
    subresource: str = ""
    action: str = DENY

    def objects(self, settings: AdmissionSettings) -> Iterable[Raw]:
        spec = {**self.spec(settings), "validations": [one.raw() for one in self.checks]}
        if self.subresource:
            for rule in spec["matchConstraints"]["resourceRules"]:
                rule["resources"] = [f"{one}/{self.subresource}" for one in rule["resources"]]
        yield _object("ValidatingAdmissionPolicy", self.name, spec)
        yield self.binding("ValidatingAdmissionPolicy", validationActions=[self.action])


def _object(kind: str, name: str, spec: Raw) -> Raw:
    metadata = {"name": PREFIX + name, "labels": {"app.kubernetes.io/part-of": "closeknit"}}
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}


def _rule(kind: Kind, operations: Sequence[str]) -> Raw:
    return {
        "apiGroups": [kind.group],
        "apiVersions": [kind.version],
        "operations": list(operations),
        "resources": [kind.plural],
        "scope": "Namespaced" if kind.namespaced else "Cluster",
    }


def _selector(settings: AdmissionSettings) -> Raw:
    requirements = [
        {"key": one.key, "operator": one.operator, **({"values": list(one.values)} if one.values else {})}
        for one in settings.namespaces.requirements
    ]
    return {"matchExpressions": requirements} if requirements else {}


def _named(expressions: Mapping[str, str]) -> list[Raw]:
    return [{"name": name, "expression": expression} for name, expression in expressions.items()]
