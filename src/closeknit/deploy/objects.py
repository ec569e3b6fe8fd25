"""The objects of an installation besides definitions and policies: service account, permissions, Deployment.

Everything that differs from one installation to another is in `InstallOptions`. There are two replicas, of which one
leads; they do not run as root, do not write to their own disk, and accept connections for probes and metrics only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .. import __version__
from ..cluster import kinds
from ..cluster.embedded.rules.settings import AdmissionSettings
from ..cluster.kinds import Kind
from ..dialects.kueue.configuration import FILE, LEASE
from . import kinds as server
from .marks import CONFIG_HASH, NAME, NAMESPACE, PODS, Raw, stamped
from .rbac import CLUSTER_WIDE, TENANT_ROLES, Grant, TenantRole, own_namespace

CONFIG_MAP = f"{NAME}-config"
FOLDER = "/etc/closeknit"
PORT = 8081
"""The port of probes and metrics."""
USER = 65532
REPLICAS = 2
DEFAULT_CONFIGURATION = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
ROOM: Raw = {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"memory": "4Gi"}}


def default_image(version: str = __version__) -> str:
    return f"closeknit:{version}"


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """The options of an installation. `configuration` is the controller's file, `rules` its settings for admission.

    `lease` is the name of the leader's Lease, `room` are the resource requests of containers.
    """

    image: str = field(default_factory=default_image)
    namespace: str = NAMESPACE
    configuration: str = DEFAULT_CONFIGURATION
    rules: AdmissionSettings = field(default_factory=AdmissionSettings)
    lease: str = LEASE
    replicas: int = REPLICAS
    monitored: bool = False
    room: Mapping[str, Raw] = field(default_factory=lambda: ROOM)
    version: str = __version__


def namespace(wishes: InstallOptions) -> Raw:
    """The namespace, with the restricted pod security standard."""
    levels = {f"pod-security.kubernetes.io/{one}": "restricted" for one in ("enforce", "warn")}
    return _object(wishes, kinds.NAMESPACE, wishes.namespace, labels=levels)


def access(wishes: InstallOptions) -> list[Raw]:
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": wishes.namespace}
    return [
        _object(wishes, kinds.SERVICE_ACCOUNT, NAME),
        _object(wishes, server.CLUSTER_ROLE, NAME, rules=_rules(CLUSTER_WIDE)),
        _object(
            wishes,
            server.CLUSTER_ROLE_BINDING,
            NAME,
            roleRef=_role_ref(server.CLUSTER_ROLE),
            subjects=[account],
        ),
        _object(wishes, server.ROLE, NAME, rules=_rules(own_namespace(wishes.lease))),
        _object(wishes, server.ROLE_BINDING, NAME, roleRef=_role_ref(server.ROLE), subjects=[account]),
        *(_tenant_role(wishes, one) for one in TENANT_ROLES),
    ]


def _tenant_role(wishes: InstallOptions, role: TenantRole) -> Raw:
    """A role for users, included in a role of Kubernetes, and in those that include that one."""
    labels = {f"rbac.authorization.k8s.io/aggregate-to-{role.joins}": "true"}
    return _object(wishes, server.CLUSTER_ROLE, role.name, labels, rules=_rules(role.grants))


def _rules(grants: Iterable[Grant]) -> list[Raw]:
    return [one.rule() for one in grants]


def _role_ref(kind: Kind) -> Raw:
    return {"apiGroup": kind.group, "kind": kind.kind, "name": NAME}


def config_map(wishes: InstallOptions) -> Raw:
    return _object(wishes, kinds.CONFIG_MAP, CONFIG_MAP, data={FILE: wishes.configuration})


def controller(wishes: InstallOptions) -> list[Raw]:
    """The objects that run the controller; the network policy comes before the pods that it protects."""
    found = [_network_policy(wishes), _budget(wishes), _deployment(wishes)]
    return [*found, _service(wishes), _monitor(wishes)] if wishes.monitored else found


def _network_policy(wishes: InstallOptions) -> Raw:
    """The network policy. The API server's address and port differ between clusters, so egress allows TCP and DNS."""
    spec = {
        "podSelector": {"matchLabels": PODS},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"ports": [{"protocol": "TCP", "port": PORT}]}],
        "egress": [{"ports": [{"protocol": "TCP"}, {"protocol": "UDP", "port": 53}]}],
    }
    return _object(wishes, server.NETWORK_POLICY, NAME, spec=spec)


def _budget(wishes: InstallOptions) -> Raw:
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": PODS}}
    return _object(wishes, kinds.BUDGET, NAME, spec=spec)


def _deployment(wishes: InstallOptions) -> Raw:
    spec = {
        "replicas": wishes.replicas,
        "revisionHistoryLimit": 3,
        "selector": {"matchLabels": PODS},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        "template": {"metadata": _pod_metadata(wishes), "spec": _pod(wishes)},
    }
    return _object(wishes, kinds.DEPLOYMENT, NAME, spec=spec)


def _pod_metadata(wishes: InstallOptions) -> Raw:
    """The metadata of pods, with a hash of the configuration, so that a changed one restarts them."""
    meta: Raw = {"labels": PODS, "annotations": {CONFIG_HASH: config_hash(wishes)}}
    return dict(stamped({"metadata": meta}, wishes.version)["metadata"])


def config_hash(wishes: InstallOptions) -> str:
    return hashlib.sha256(wishes.configuration.encode()).hexdigest()[:16]


def _pod(wishes: InstallOptions) -> Raw:
    apart = {"labelSelector": {"matchLabels": PODS}, "topologyKey": "kubernetes.io/hostname"}
    return {
        "serviceAccountName": NAME,
        "terminationGracePeriodSeconds": 20,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": apart}]
            }
        },
        "containers": [_container(wishes)],
        "volumes": [{"name": "config", "configMap": {"name": CONFIG_MAP}}, {"name": "tmp", "emptyDir": {}}],
    }


def _container(wishes: InstallOptions) -> Raw:
    return {
        "name": "controller",
        "image": wishes.image,
        "command": ["closeknit", "controller"],
        "args": [f"--config={FOLDER}/{FILE}", f"--health-address=0.0.0.0:{PORT}"],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
            {"name": "PYTHONUNBUFFERED", "value": "1"},
        ],
        "ports": [{"name": "health", "containerPort": PORT, "protocol": "TCP"}],
        "livenessProbe": _probe("/healthz", 3),
        "readinessProbe": _probe("/readyz", 1),
        "resources": dict(wishes.room),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "config", "mountPath": FOLDER, "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},
        ],
    }


def _probe(path: str, failures: int) -> Raw:
    """A probe with all fields set, so that defaults of the server cause no difference."""
    return {
        "httpGet": {"path": path, "port": "health", "scheme": "HTTP"},
        "periodSeconds": 10,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def _service(wishes: InstallOptions) -> Raw:
    port = {"name": "metrics", "port": PORT, "targetPort": "health", "protocol": "TCP"}
    return _object(wishes, kinds.SERVICE, NAME, spec={"selector": PODS, "ports": [port]}, labels=PODS)


def _monitor(wishes: InstallOptions) -> Raw:
    spec = {"selector": {"matchLabels": PODS}, "endpoints": [{"port": "metrics", "path": "/metrics"}]}
    return _object(wishes, server.SERVICE_MONITOR, NAME, spec=spec)


def _object(
    wishes: InstallOptions, kind: Kind, name: str, labels: Mapping[str, str] | None = None, **body: object
) -> Raw:
    meta: Raw = {"name": name, **({"namespace": wishes.namespace} if kind.namespaced else {})}
    if labels:
        meta["labels"] = dict(labels)
    return stamped({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **body}, wishes.version)
