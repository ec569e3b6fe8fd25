"""The objects of an installation besides definitions and policies: service account, permissions, Deployment.

Everything that differs from one installation to another is in `InstallOptions`. There are two replicas, of which one
leads; they do not run as root, do not write to their own disk, and connect to the API server only. Their port for
probes is open to the kubelet alone; that for metrics and decisions to namespaces with a label, and to the API server.
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
from .marks import CONFIG_HASH, METRICS_READER, NAME, NAMESPACE, PODS, READER, Raw, stamped
from .rbac import (
    CLUSTER_WIDE,
    METRICS_PATHS,
    READER_PATHS,
    TENANT_ROLES,
    Grant,
    TenantRole,
    own_namespace,
    reading_by_proxy,
)

CONFIG_MAP = f"{NAME}-config"
FOLDER = "/etc/closeknit"
PORT, METRICS_PORT = 8081, 8082
"""The ports of probes, and of metrics, decisions and configuration."""
API_PORTS = (443, 6443, 8443, 16443)
"""The ports on which API servers listen: of the Service, and those of the usual distributions behind it."""
SCRAPERS = {"metrics": "enabled"}
"""The label of namespaces that may connect to the port of metrics."""
SCRAPER_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"
TMP_SIZE = "64Mi"
USER = 65532
REPLICAS = 2
DEFAULT_CONFIGURATION = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
ROOM: Raw = {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"memory": "4Gi"}}


def default_image(version: str = __version__) -> str:
    return f"closeknit:{version}"


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """The options of an installation. `configuration` is the controller's file, `rules` its settings for admission.

    `lease` is the name of the leader's Lease, `room` are the resource requests of containers. `api_server` are the
    CIDRs from which the API server connects to pods, for commands that read decisions through it.
    """

    image: str = field(default_factory=default_image)
    namespace: str = NAMESPACE
    configuration: str = DEFAULT_CONFIGURATION
    rules: AdmissionSettings = field(default_factory=AdmissionSettings)
    lease: str = LEASE
    replicas: int = REPLICAS
    monitored: bool = False
    room: Mapping[str, Raw] = field(default_factory=lambda: ROOM)
    api_server: tuple[str, ...] = ()
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
        *_reading(wishes),
        *(_tenant_role(wishes, one) for one in TENANT_ROLES),
    ]


def _reading(wishes: InstallOptions) -> list[Raw]:
    """What readers of metrics and decisions need. Commands get a token of the account, which may do nothing else."""
    account = {"kind": "ServiceAccount", "name": READER, "namespace": wishes.namespace}
    reference = _role_ref(server.CLUSTER_ROLE, READER)
    return [
        _object(wishes, server.CLUSTER_ROLE, METRICS_READER, rules=[_paths(METRICS_PATHS)]),
        _object(wishes, server.CLUSTER_ROLE, READER, rules=[_paths(READER_PATHS)]),
        _object(wishes, kinds.SERVICE_ACCOUNT, READER),
        _object(wishes, server.CLUSTER_ROLE_BINDING, READER, roleRef=reference, subjects=[account]),
        _object(wishes, server.ROLE, READER, rules=_rules(reading_by_proxy(wishes.lease))),
    ]


def _paths(paths: Iterable[str]) -> Raw:
    return {"nonResourceURLs": list(paths), "verbs": ["get"]}


def _tenant_role(wishes: InstallOptions, role: TenantRole) -> Raw:
    """A role for users, included in a role of Kubernetes, and in those that include that one."""
    labels = {f"rbac.authorization.k8s.io/aggregate-to-{role.joins}": "true"}
    return _object(wishes, server.CLUSTER_ROLE, role.name, labels, rules=_rules(role.grants))


def _rules(grants: Iterable[Grant]) -> list[Raw]:
    return [one.rule() for one in grants]


def _role_ref(kind: Kind, name: str = NAME) -> Raw:
    return {"apiGroup": kind.group, "kind": kind.kind, "name": name}


def config_map(wishes: InstallOptions) -> Raw:
    return _object(wishes, kinds.CONFIG_MAP, CONFIG_MAP, data={FILE: wishes.configuration})


def controller(wishes: InstallOptions) -> list[Raw]:
    """The objects that run the controller; the network policy comes before the pods that it protects."""
    found = [_network_policy(wishes), _budget(wishes), _deployment(wishes)]
    return [*found, _service(wishes), _monitor(wishes)] if wishes.monitored else found


def _network_policy(wishes: InstallOptions) -> Raw:
    """The network policy. Probes need no rule: the kubelet of a node always reaches the pods of its node.

    Pods find the API server by its address, so they need no DNS. That address differs between clusters.
    """
    sources: list[Raw] = [{"namespaceSelector": {"matchLabels": SCRAPERS}}]
    sources += ({"ipBlock": {"cidr": one}} for one in wishes.api_server)
    spec = {
        "podSelector": {"matchLabels": PODS},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": sources, "ports": [{"protocol": "TCP", "port": METRICS_PORT}]}],
        "egress": [{"ports": [{"protocol": "TCP", "port": port} for port in API_PORTS]}],
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
        "volumes": [
            {"name": "config", "configMap": {"name": CONFIG_MAP}},
            {"name": "tmp", "emptyDir": {"sizeLimit": TMP_SIZE}},
        ],
    }


def _container(wishes: InstallOptions) -> Raw:
    return {
        "name": "controller",
        "image": wishes.image,
        "command": ["closeknit", "controller"],
        "args": [
            f"--config={FOLDER}/{FILE}",
            f"--health-address=0.0.0.0:{PORT}",
            f"--metrics-address=0.0.0.0:{METRICS_PORT}",
        ],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
            {"name": "PYTHONUNBUFFERED", "value": "1"},
        ],
        "ports": [
            {"name": "health", "containerPort": PORT, "protocol": "TCP"},
            {"name": "metrics", "containerPort": METRICS_PORT, "protocol": "TCP"},
        ],
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
    port = {"name": "metrics", "port": METRICS_PORT, "targetPort": "metrics", "protocol": "TCP"}
    return _object(wishes, kinds.SERVICE, NAME, spec={"selector": PODS, "ports": [port]}, labels=PODS)


def _monitor(wishes: InstallOptions) -> Raw:
    """How Prometheus scrapes; its ServiceAccount has to be bound to the ClusterRole closeknit-metrics-reader."""
    endpoint = {"port": "metrics", "path": "/metrics", "bearerTokenFile": SCRAPER_TOKEN}
    spec = {"selector": {"matchLabels": PODS}, "endpoints": [endpoint]}
    return _object(wishes, server.SERVICE_MONITOR, NAME, spec=spec)


def _object(
    wishes: InstallOptions, kind: Kind, name: str, labels: Mapping[str, str] | None = None, **body: object
) -> Raw:
    meta: Raw = {"name": name, **({"namespace": wishes.namespace} if kind.namespaced else {})}
    if labels:
        meta["labels"] = dict(labels)
    return stamped({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **body}, wishes.version)
