"""Requests that no good client sends: real objects with something wrong in them, at addresses that may or may not be.

Everything comes from one seeded generator, so a request that did harm can be sent again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from closeknit.cluster.kinds import KINDS

TEMPLATE: dict[str, dict[str, Any]] = {
    "metadata": {"labels": {"app": "a"}, "annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}},
    "spec": {
        "restartPolicy": "Never",
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}],
        "schedulingGates": [{"name": "example.com/gate"}],
        "terminationGracePeriodSeconds": 30,
        "containers": [
            {
                "name": "c",
                "image": "i:1",
                "env": [{"name": "A", "value": "1"}],
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}},
            }
        ],
    },
}
LASTING = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Always"}}
TRAINING = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "containers": [{"name": "pytorch", "image": "i:1"}]}}
SELECTOR = {"matchLabels": {"app": "a"}}
BODIES: dict[str, dict[str, Any]] = {
    "Namespace": {},
    "Node": {
        "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}], "unschedulable": True},
        "status": {"allocatable": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]},
    },
    "Pod": {"spec": TEMPLATE["spec"]},
    "Event": {"involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"}, "reason": "R", "count": 1},
    "ConfigMap": {"data": {"a": "1"}, "binaryData": {"b": "AAAA"}, "immutable": False},
    "Secret": {"stringData": {"a": "1"}, "data": {"b": "AAAA"}, "type": "Opaque"},
    "Service": {"spec": {"ports": [{"port": 80, "targetPort": "http", "name": "h"}], "selector": {"a": "b"}}},
    "PodTemplate": {"template": TEMPLATE},
    "LimitRange": {"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}}]}},
    "Deployment": {"spec": {"replicas": 1, "selector": SELECTOR, "template": LASTING}},
    "ReplicaSet": {"spec": {"replicas": 1, "selector": SELECTOR, "template": LASTING}},
    "StatefulSet": {"spec": {"replicas": 1, "serviceName": "s", "selector": SELECTOR, "template": LASTING}},
    "DaemonSet": {"spec": {"selector": SELECTOR, "template": LASTING}},
    "Job": {
        "spec": {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": TEMPLATE},
        "status": {"succeeded": 1, "completedIndexes": "0-1", "conditions": [{"type": "Complete", "status": "True"}]},
    },
    "CronJob": {"spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": TEMPLATE}}}},
    "PodDisruptionBudget": {"spec": {"minAvailable": "50%", "selector": SELECTOR}},
    "PriorityClass": {"value": 5, "globalDefault": False},
    "RuntimeClass": {"handler": "h", "overhead": {"podFixed": {"cpu": "1"}}},
    "PersistentVolumeClaim": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    "PersistentVolume": {
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/d"}}
    },
    "StorageClass": {"provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"},
    "Lease": {"spec": {"holderIdentity": "me", "renewTime": "2026-01-01T00:00:00.000000Z"}},
    "Workload": {
        "spec": {"queueName": "q", "podSets": [{"name": "main", "count": 2, "template": TEMPLATE}], "priority": 1},
        "status": {"conditions": [{"type": "Admitted", "status": "True", "reason": "R", "message": "m"}]},
    },
    "ClusterQueue": {
        "spec": {
            "cohortName": "c",
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": ["cpu"],
                    "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "4"}]}],
                }
            ],
        }
    },
    "LocalQueue": {"spec": {"clusterQueue": "q"}},
    "ResourceFlavor": {"spec": {"nodeLabels": {"a": "b"}, "topologyName": "t"}},
    "Topology": {"spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]}},
    "JobSet": {
        "spec": {"replicatedJobs": [{"name": "r", "replicas": 1, "template": {"spec": {"template": TEMPLATE}}}]}
    },
    "LeaderWorkerSet": {"spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": TEMPLATE}}},
    "MPIJob": {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 2, "template": TEMPLATE}}}},
    "PyTorchJob": {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": TRAINING}}}},
    "RayCluster": {"spec": {"headGroupSpec": {"rayStartParams": {}, "template": TEMPLATE}}},
}
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**31, 2**62, 2**63, -(2**63) - 1, 10**40, 0.5, -0.0, 1e308, 1e-320),
    *("", "x", "0", "-1", "1Gi", "99999999999999999999", "é", "😀", "\u0000", "\u202e", "a" * 300, "../..", "{{", "%s"),
    *("2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "All", "Never", "kube-system"),
    *([], {}, [None], [[]], [{}], {"": None}, {"a": {"b": {}}}, [1, "a", None], {"$patch": "delete"}, {"name": "c"}),
]
TEXTS = [
    *("", "0", "-1", "1", "x", "true", "false", "All", "Strict", "Warn", "%", "%zz", "é", "\u202e", "a" * 5000, "a,b"),
    *("metadata.name=x", "a in (b,c)", "a in (", "spec.nodeName!=", "9" * 25, "WzEsICJhIiwgImIiXQ==", "Orphan", "\x00"),
    "\n",
]
PARAMETERS = [
    *("watch", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "allowWatchBookmarks", "limit"),
    *("continue", "labelSelector", "fieldSelector", "dryRun", "fieldManager", "fieldValidation", "force", "pretty"),
    *("propagationPolicy", "gracePeriodSeconds", "orphanDependents", "includeObject", "timeoutSeconds", "x"),
]
ACCEPTS = [
    *("application/json", "*/*", "", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "text/html"),
    *("application/yaml", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", ";;;,,=", "a/b;q=é"),
]
METHODS = {"GET": 3, "POST": 7, "PUT": 7, "PATCH": 9, "DELETE": 1, "HEAD": 0.1, "OPTIONS": 0.1}
TYPES = ["application/yaml", "", "text/plain", "application/json; charset=x", "é", "a" * 500, "application/json"]
WITH_PARTS = ("Pod", "Deployment", "Job", "Workload", "Node")
PATCHES = ["application/merge-patch+json", "application/json-patch+json", "application/strategic-merge-patch+json"]
PATCHES += ["application/apply-patch+yaml", "application/json"]
PARTS = ["status", "scale", "binding", "eviction", "finalize", "log", "exec", "x", ""]
NAMES = ["a"] * 8 + ["b", "default"]
ODD_NAMES = ["%2F", "..", "%00", "%ff", "é", "a" * 300, "A_B", "%25", "*", "a;b", "a%0d%0ab", "%F0%9F%98%80"]


class Request(NamedTuple):
    method: str
    target: str
    body: bytes | None
    headers: dict[str, str]


class Fuzz:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.kinds = [kind for kind in KINDS if kind.kind in BODIES]

    def request(self) -> Request:
        random = self.random
        (method,) = random.choices(list(METHODS), list(METHODS.values()))
        kind = random.choice(self.kinds)
        name = random.choice(NAMES) if random.random() < 0.95 else random.choice(ODD_NAMES)
        part = random.choice(PARTS) if random.random() < 0.25 else ""
        namespace = "default" if random.random() < 0.95 else random.choice(ODD_NAMES + NAMES)
        if part:
            kind = random.choice([one for one in self.kinds if one.kind in WITH_PARTS])
        at = kind.path(namespace, "" if method == "POST" and not part else name, part)
        if method in ("GET", "DELETE") and random.random() < 0.3:
            at = kind.path(namespace)
        if random.random() < 0.03:
            at = self.path(at)
        tree = self.object(kind.kind, kind.api_version, name if method != "POST" or random.random() < 0.2 else "")
        body, media = None, ""
        if method in ("POST", "PUT", "PATCH") or (method == "DELETE" and random.random() < 0.5):
            body, media = self.body(method, part, tree)
        headers = {"Accept": random.choice(ACCEPTS) if random.random() < 0.1 else "application/json"}
        if media:
            headers["Content-Type"] = media
        if random.random() < 0.1:
            headers["User-Agent"] = random.choice(["", "/", "x" * 300, "kubectl/v1 (é)"])
        return Request(method, quote(at, safe="/%*;:@&=+$,~") + self.query(), body, headers)

    def seeds(self) -> Iterator[Request]:
        """One good object of every kind."""
        for kind in self.kinds:
            meta = {"name": "a", "labels": {"l": "1"}, "annotations": {"n": "1"}, "finalizers": ["example.com/f"]}
            body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **BODIES[kind.kind]}
            yield Request("POST", kind.path("default"), json.dumps(body).encode(), {"Content-Type": "application/json"})

    def path(self, at: str) -> str:
        parts = at.split("/")
        match self.random.randrange(5):
            case 0:
                parts.insert(self.random.randrange(1, len(parts) + 1), self.random.choice(ODD_NAMES))
            case 1:
                del parts[self.random.randrange(1, len(parts))]
            case 2:
                parts = [
                    "",
                    *self.random.choices(["api", "apis", "v1", "openapi", "v3", "closeknit", "", "batch"], k=4),
                ]
            case 3:
                parts.append("")
            case _:
                parts = ["", "x" * 3000]
        return "/".join(parts) or "/"

    def query(self) -> str:
        if self.random.random() < 0.75:
            return ""
        chosen = self.random.sample(PARAMETERS, self.random.randrange(1, 4))
        given = [(name, self.random.choice(TEXTS)) for name in chosen]
        return "?" + urlencode(given) + self.random.choice(["", "", "", "&&=", "&%ff=%fe"])

    def object(self, kind: str, version: str, name: str) -> dict[str, Any]:
        meta: dict[str, Any] = {"name": name} if name else {"generateName": "g-"}
        if self.random.random() < 0.3:
            owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
            meta |= {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["example.com/f"]}
            meta["ownerReferences"] = [owner]
        tree = {"apiVersion": version, "kind": kind, "metadata": meta, **BODIES[kind]}
        result: dict[str, Any] = json.loads(json.dumps(tree))
        for _ in range(self.random.choice([0, 1, 1, 1, 2, 5])):
            self.spoil(result)
        return result

    def spoil(self, tree: Any) -> None:
        """Change one place of a tree, wherever that is."""
        holders: list[Any] = []

        def walk(value: Any) -> None:
            if isinstance(value, dict | list) and value:
                holders.append(value)
                for one in value.values() if isinstance(value, dict) else value:
                    walk(one)

        walk(tree)
        if not holders:
            return
        holder = self.random.choice(holders)
        key = self.random.choice(list(holder)) if isinstance(holder, dict) else self.random.randrange(len(holder))
        match self.random.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[self.random.choice(["x", "", "é", "$patch", "metadata", "spec", "name"])] = self.odd()
            case 2 if isinstance(holder, list):
                holder.append(holder[key])
            case _:
                holder[key] = self.odd()

    def odd(self) -> Any:
        if self.random.random() < 0.02:
            value: Any = "deep"
            for _ in range(self.random.choice([30, 90, 400])):
                value = [value] if self.random.random() < 0.5 else {"a": value}
            return value
        return json.loads(json.dumps(self.random.choice(ODD)))

    def body(self, method: str, part: str, tree: dict[str, Any]) -> tuple[bytes, str]:
        media = self.random.choice(TYPES) if self.random.random() < 0.1 else "application/json"
        value: Any = tree
        if method == "PATCH":
            media = self.random.choice(PATCHES)
            value = self.steps() if media == PATCHES[1] and self.random.random() < 0.9 else tree
        elif method == "DELETE":
            value = {
                "preconditions": {"uid": "u"} if self.random.random() < 0.2 else {},
                "propagationPolicy": "Background",
                "gracePeriodSeconds": 1,
                "dryRun": ["All"],
            }
            self.spoil(value)
        elif part == "binding":
            value = {"metadata": {"name": "a", "labels": {"x": "y"}}, "target": {"kind": "Node", "name": "n"}}
            self.spoil(value)
        elif part == "eviction":
            value = {"metadata": {"name": "a"}, "deleteOptions": {"gracePeriodSeconds": 1}}
            self.spoil(value)
        elif part == "scale":
            value = {"metadata": {"name": "a"}, "spec": {"replicas": 2}}
            self.spoil(value)
        return self.written(value), media

    def steps(self) -> list[Any]:
        paths = ["/metadata/labels/a", "/spec", "/spec/replicas", "/metadata", "", "/", "/data/a", "/spec/containers/0"]
        paths += [
            "/metadata/finalizers/-",
            "/a/b/c",
            "/spec/containers/x",
            "/~2",
            "/metadata/name",
            "/kind",
            "é",
            "/status",
        ]
        return [
            {
                "op": self.random.choice(["add", "remove", "replace", "move", "copy", "test", "x", None]),
                "path": self.random.choice(paths),
                "from": self.random.choice(paths),
                "value": self.odd(),
            }
            for _ in range(self.random.randrange(4))
        ]

    def written(self, value: Any) -> bytes:
        text = json.dumps(value)
        spoilt: list[Callable[[], bytes]] = [
            lambda: text[: self.random.randrange(len(text) + 1)].encode(),
            lambda: text.replace('"a"', '"\\ud800"').encode(),
            lambda: text.replace("1", "NaN").encode(),
            lambda: text.replace("1", "1" * 400).encode(),
            lambda: text.replace("{", '{"a":1,"a":2,', 3).encode(),
            lambda: self.random.randbytes(50),
            lambda: b"\xef\xbb\xbf" + text.encode(),
            lambda: text.encode("utf-16"),
            lambda: b"[" * 50_000,
            lambda: b'{"a":' * 3000,
            lambda: b"",
            lambda: b"null",
            lambda: f'{{"data": {{"k": "{"x" * self.random.choice([10_000, 4_000_000])}"}}}}'.encode(),
            lambda: b"a: &a [*a]\nb: !!python/name:os.system\n",
            lambda: b"- a\n" * 20_000,
        ]
        return self.random.choice(spoilt)() if self.random.random() < 0.12 else text.encode()
