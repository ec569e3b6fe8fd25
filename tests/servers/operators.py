"""JobSet, LeaderWorkerSet and Kueue, the real controllers, beside the cluster instead of in it.

Their webhooks are called by address: a server on loopback with a certificate of ours. As they are installed in a
cluster, those of JobSet and LeaderWorkerSet for pods are asked only about pods with the operator's label.

Kueue reads the certificate of its metrics from a fixed path unless it manages certificates itself. So it does, over
configurations that are empty, and the webhooks that count have other names. Its kinds name a conversion webhook, which
it requires; nothing listens there, so they are used in their latest version only. Its visibility server listens on a
fixed port, which two of them cannot share: it is disabled.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml

from .build import module_folder
from .components import Home
from .credentials import write_certificate
from .definitions import definitions
from .process import HOST, Recipe, free_ports
from .versions import JOBSET, KUEUE, LWS, Module

CERTIFICATES_OF_KUEUE = """
apiVersion: v1
kind: Namespace
metadata: {name: kueue-system}
---
apiVersion: v1
kind: Secret
metadata: {name: kueue-webhook-server-cert, namespace: kueue-system}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: kueue-mutating-webhook-configuration}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: kueue-validating-webhook-configuration}
"""
NO_CONVERSION = {
    "strategy": "Webhook",
    "webhook": {"clientConfig": {"url": f"https://{HOST}:1/convert"}, "conversionReviewVersions": ["v1"]},
}


class Operator(NamedTuple):
    """A controller with kinds of its own.

    `config` is the version of its configuration, `settings` what else is in there; `webhooks` the file that describes
    them; `pod_label` the label of its pods, if it does not watch all of them; `first` what has to exist before.
    """

    name: str
    module: Module
    config: str
    webhooks: str
    pod_label: str | None = None
    settings: Mapping[str, Any] = MappingProxyType({})
    first: str = ""
    converts: bool = False


OPERATORS = {
    operator.name: operator
    for operator in (
        Operator(
            "jobset",
            JOBSET,
            "config.jobset.x-k8s.io/v1alpha1",
            "config/components/webhook/manifests.yaml",
            "jobset.sigs.k8s.io/jobset-name",
        ),
        Operator(
            "lws",
            LWS,
            "config.lws.x-k8s.io/v1alpha1",
            "config/webhook/manifests.yaml",
            "leaderworkerset.sigs.k8s.io/name",
        ),
        Operator(
            "kueue",
            KUEUE,
            "config.kueue.x-k8s.io/v1beta2",
            "config/components/webhook/manifests.yaml",
            settings={
                "integrations": {"frameworks": ["batch/job", "pod", "jobset.x-k8s.io/jobset"]},
                "internalCertManagement": {"enable": True},
                "featureGates": {"VisibilityOnDemand": False},
            },
            first=CERTIFICATES_OF_KUEUE,
            converts=True,
        ),
    )
}


def operator_kinds(operator: Operator) -> Iterator[dict[str, Any]]:
    for definition in definitions(operator.name):
        if operator.converts:
            definition["spec"]["conversion"] = NO_CONVERSION
        yield definition


def operator_recipe(operator: Operator, home: Home) -> tuple[Recipe, list[dict[str, Any]]]:
    """What to run, and the webhook configurations to make once it is ready."""
    health, webhook = free_ports(2)
    folder = home.folder / operator.name
    authority = write_certificate(folder)
    config = folder / "config.json"
    content = {
        "apiVersion": operator.config,
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"{HOST}:{health}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": HOST, "port": webhook, "certDir": str(folder)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "clientConnection": {"qps": 500, "burst": 1000},
        **operator.settings,
    }
    config.write_text(json.dumps(content))
    command = home.command(operator.name, f"--kubeconfig={home.kubeconfig}", f"--config={config}")
    recipe = Recipe(command, f"http://{HOST}:{health}/readyz")
    return recipe, list(webhooks(operator, f"https://{HOST}:{webhook}", authority))


def webhooks(operator: Operator, url: str, authority: bytes) -> Iterator[dict[str, Any]]:
    """The operator's webhook configurations, under its name and at this address."""
    text = (module_folder(operator.module) / operator.webhooks).read_text()
    for configuration in yaml.safe_load_all(text):
        configuration["metadata"]["name"] = f"{operator.name}-by-url-{configuration['metadata']['name']}"
        for webhook in configuration["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": f"{url}{path}", "caBundle": base64.b64encode(authority).decode()}
            if operator.pod_label and any("pods" in rule["resources"] for rule in webhook["rules"]):
                webhook["objectSelector"] = {"matchExpressions": [{"key": operator.pod_label, "operator": "Exists"}]}
        yield configuration
