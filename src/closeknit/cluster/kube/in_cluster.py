"""The configuration inside a pod: the ServiceAccount that the kubelet mounts there.

The address comes from the environment, everything else from three files. The token is bound to the pod and expires
within the hour; the kubelet keeps a valid one in the file, so it is read again while the program runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ...model.mistake import refuse
from .config import DEFAULT_NAMESPACE, Config

FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
HOST, PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"
OUTSIDE = "run it in a pod with a ServiceAccount token, or name a kubeconfig"


def is_in_cluster(environ: Mapping[str, str] = os.environ, folder: Path = FOLDER) -> bool:
    return bool(environ.get(HOST) and environ.get(PORT)) and (folder / "token").exists()


def in_cluster_config(environ: Mapping[str, str] = os.environ, folder: Path = FOLDER) -> Config:
    """The API server of this pod's cluster, with the pod's ServiceAccount."""
    host, port = environ.get(HOST, ""), environ.get(PORT, "")
    if not host or not port:
        raise refuse(f"{HOST if not host else PORT} is not set: this is not a pod", OUTSIDE, "environment")
    for name in ("token", "ca.crt"):
        if not (folder / name).exists():
            raise refuse("does not exist", OUTSIDE, str(folder / name))
    namespace = folder / "namespace"
    return Config(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        token_file=str(folder / "token"),
        authority=(folder / "ca.crt").read_text(),
        namespace=(namespace.read_text().strip() if namespace.exists() else "") or DEFAULT_NAMESPACE,
        context="in-cluster",
        source=str(folder),
    )
