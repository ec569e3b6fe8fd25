"""Our policies on a server, in force when `install` returns.

A server takes up to two seconds to enforce a policy, and enforces them in the order of creation. So the last two are
probes whose effect can be seen. For a moment mutating policies do not know a newly defined kind, and nothing of that
kind can be created: that is waited for too.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from functools import partial

from closeknit.cluster.kinds import Kind
from closeknit.deploy.policies import AdmissionSettings, policies
from contract.client import Api
from contract.expect import eventually

from .manifests import Object, apply, read

UNKNOWN = 503
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
PLURALS = {
    f"{word}AdmissionPolicy{part}": f"{word.lower()}admissionpol{'icybindings' if part else 'icies'}"
    for word in ("Mutating", "Validating")
    for part in ("", "Binding")
}
LAST = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  matchConditions: [{name: last, expression: object.metadata.name == "NAME"}]
  reinvocationPolicy: Never
  mutations:
  - {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "add", path: "/data", value: {"a": "b"}}]'}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  matchConditions: [{name: last, expression: object.metadata.name == "NAME"}]
  validations: [{expression: '!has(object.data)', message: both are in force}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME, validationActions: [Deny]}
"""


def install(api: Api, settings: AdmissionSettings | None = None, kinds: Iterable[Kind] = ()) -> list[Object]:
    """`kinds`: kinds of other projects whose objects are created afterwards."""
    found = apply(api, policies(settings or AdmissionSettings()))
    await_heeded(api)
    for kind in kinds:
        eventually(partial(is_known, api, kind))
    return found


def remove(api: Api, objects: Iterable[Object]) -> None:
    for one in objects:
        api.delete(f"{ADMISSION}/{PLURALS[one['kind']]}/{one['metadata']['name']}")
    await_heeded(api)


def await_heeded(api: Api) -> None:
    """Wait until the server enforces all changes to policies so far."""
    name = f"last-{secrets.token_hex(5)}"
    made = apply(api, read(LAST.replace("NAME", name)))
    body = {"metadata": {"name": name}}
    eventually(lambda: api.post("/api/v1/namespaces/default/configmaps", body, dryRun="All").status == 422)
    for one in made:
        api.delete(f"{ADMISSION}/{PLURALS[one['kind']]}/{name}")


def is_known(api: Api, kind: Kind) -> bool:
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "x"}, "spec": {}}
    return api.post(kind.path("default"), body, dryRun="All").status != UNKNOWN
