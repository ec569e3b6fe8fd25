"""Whether the controller's ServiceAccount has all the permissions that it needs.

A user that may impersonate it gets all of its rules in two requests. Any other user sends one SubjectAccessReview per
permission. A rule of a Role counts in its namespace only, so cluster-wide permissions are reviewed where there is no
Role: in a namespace that does not exist.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import NamedTuple

from ...cluster.errors import Forbidden
from ...cluster.kinds import Kind
from ...cluster.kube.client import Client, path
from ..kinds import ACCESS_REVIEW, SELF_ACCESS_REVIEW, SELF_RULES_REVIEW
from ..marks import NAME, Raw
from ..rbac import CLUSTER_WIDE, Grant, own_namespace
from .finding import Finding, Patient, few, ok, problem, warning

CHECK = "permissions"
NOWHERE = "closeknit-doctor-nowhere"
IN_FLIGHT = 16


class Need(NamedTuple):
    """One verb on one kind, or on a subresource of it; `namespace` empty: cluster-wide."""

    kind: Kind
    part: str
    verb: str
    namespace: str
    name: str

    def __str__(self) -> str:
        part = f"/{self.part}" if self.part else ""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} on {self.kind.resource}{part}{where}"

    def attributes(self) -> Raw:
        wanted = {
            "namespace": self.namespace,
            "verb": self.verb,
            "group": self.kind.group,
            "version": self.kind.version,
            "resource": self.kind.plural,
            "subresource": self.part,
            "name": self.name,
        }
        return {key: value for key, value in wanted.items() if value}


async def check(patient: Patient) -> AsyncIterator[Finding]:
    needs = [*_needs(CLUSTER_WIDE, ""), *_needs(own_namespace(patient.lease), patient.namespace)]
    user = f"system:serviceaccount:{patient.namespace}:{NAME}"
    try:
        missing = await _missing(patient, needs, user)
    except Forbidden as refused:
        text = f"cannot be checked: {refused.message}"
        yield warning(CHECK, text, "run it as a user that may create subjectaccessreviews, or impersonate")
        return
    if missing:
        text = f"{user} lacks: {few([str(one) for one in missing], 8)}"
        yield problem(CHECK, text, f"`{patient.command('install')}` grants them")
    else:
        yield ok(CHECK, f"{user} has all {len(needs)} permissions that it needs")


def _needs(grants: Iterable[Grant], namespace: str) -> list[Need]:
    return [
        Need(kind, grant.part, verb, namespace, name)
        for grant in grants
        for kind in grant.kinds
        for verb in grant.verbs
        for name in grant.names or ("",)
    ]


async def _missing(patient: Patient, needs: list[Need], user: str) -> list[Need]:
    if not patient.client.config.acting_as:
        try:
            async with _as_account(patient.client, user) as account:
                return await _by_rules(account, needs)
        except Forbidden:
            pass

    def review(need: Need) -> Raw:
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{patient.namespace}", "system:authenticated"]
        return {"resourceAttributes": need.attributes(), "user": user, "groups": groups}

    return await _by_asking(patient.client, ACCESS_REVIEW, needs, review)


@asynccontextmanager
async def _as_account(client: Client, user: str) -> AsyncIterator[Client]:
    acting = (("Impersonate-User", user),)
    async with Client(replace(client.config, acting_as=acting)) as account:
        yield account


async def _by_rules(account: Client, needs: list[Need]) -> list[Need]:
    spaces = {need.namespace or NOWHERE for need in needs}
    answers = {space: await _rules(account, space) for space in sorted(spaces)}
    left = [need for need in needs if not _is_granted(need, answers[need.namespace or NOWHERE])]
    if left and any(one.get("incomplete") for one in answers.values()):
        return await _by_asking(
            account, SELF_ACCESS_REVIEW, left, lambda need: {"resourceAttributes": need.attributes()}
        )
    return left


async def _rules(account: Client, namespace: str) -> Raw:
    answer = await account.tree("POST", path(SELF_RULES_REVIEW), _review(SELF_RULES_REVIEW, {"namespace": namespace}))
    found: Raw = answer["status"]
    return found


def _is_granted(need: Need, answer: Mapping[str, object]) -> bool:
    rules = answer.get("resourceRules") or []
    assert isinstance(rules, list)
    resource = f"{need.kind.plural}/{need.part}" if need.part else need.kind.plural
    return any(
        _in(need.verb, one.get("verbs"))
        and _in(need.kind.group, one.get("apiGroups"))
        and (_in(resource, one.get("resources")) or (bool(need.part) and f"*/{need.part}" in one["resources"]))
        and (not one.get("resourceNames") or need.name in one["resourceNames"])
        for one in rules
    )


def _in(wanted: str, listed: list[str] | None) -> bool:
    return wanted in (listed or ()) or "*" in (listed or ())


async def _by_asking(client: Client, kind: Kind, needs: list[Need], spec: Callable[[Need], Raw]) -> list[Need]:
    async def is_allowed(need: Need) -> bool:
        answer = await client.tree("POST", path(kind), _review(kind, spec(need)))
        return bool(answer["status"].get("allowed"))

    missing: list[Need] = []
    for start in range(0, len(needs), IN_FLIGHT):
        some = needs[start : start + IN_FLIGHT]
        allowed = await asyncio.gather(*map(is_allowed, some))
        missing += [need for need, is_good in zip(some, allowed, strict=True) if not is_good]
    return missing


def _review(kind: Kind, spec: Raw) -> Raw:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
