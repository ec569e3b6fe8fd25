"""The corpus on servers that are started for it: `python -m corpus.run real embedded`.

`real` is kube-apiserver with our definitions, `policies` the same with our policies and the kinds of others, `embedded`
the rules of the embedded host.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from closeknit.deploy.crds import definitions
from contract.client import Api
from contract.expect import eventually, make
from servers.cluster import RealCluster
from servers.policies import install as install_policies
from servers.suites import main
from servers.versions import JOB_DEFINITIONS

from .conftest import POLICIES, VARIABLE
from .job_objects import TEMPLATES

SUITE = Path(__file__).parent
APPROVED = "KubernetesAPIApprovalPolicyConformant"
"""The condition of definitions in protected groups, which need an annotation."""
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def install(api: Api) -> None:
    """All definitions, served, without errors in their conditions."""
    for one in definitions():
        make(api, DEFINITIONS, one)
    for one in definitions():
        path = f"{DEFINITIONS}/{one['metadata']['name']}"
        eventually(partial(is_established, api, path))
        approved = {APPROVED: "True"} if one["spec"]["group"].endswith(".k8s.io") else {}
        assert conditions(api, path) == {"NamesAccepted": "True", "Established": "True"} | approved


def is_established(api: Api, path: str) -> bool:
    return conditions(api, path).get("Established") == "True"


def conditions(api: Api, path: str) -> dict[str, str]:
    found = api.get(path).body.get("status", {}).get("conditions", [])
    return {one["type"]: one["status"] for one in found}


@contextmanager
def real() -> Iterator[dict[str, str]]:
    with RealCluster(()) as plane:
        install(Api.from_kubeconfig(plane.kubeconfig))
        yield {VARIABLE: str(plane.kubeconfig)}


@contextmanager
def policies() -> Iterator[dict[str, str]]:
    with RealCluster(()) as plane:
        install(plane.api)
        plane.define(*JOB_DEFINITIONS)
        install_policies(plane.api, kinds=(kind for kind in TEMPLATES if not kind.is_built_in))
        yield {VARIABLE: str(plane.kubeconfig), POLICIES: "1"}


@contextmanager
def embedded() -> Iterator[dict[str, str]]:
    yield {}


SERVERS = {"real": real, "policies": policies, "embedded": embedded}


if __name__ == "__main__":
    sys.exit(main(SUITE, SERVERS, "-rs"))
