"""The audit log of kube-apiserver: users and requests, without the bodies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def audit_flags(folder: Path, log: Path, user: str) -> list[str]:
    """Every request of one user is written to `log` when it is answered; those of others are not."""
    policy = folder / "audit-policy.json"
    content = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "users": [user]}, {"level": "None"}],
    }
    policy.write_text(json.dumps(content))
    return [f"--audit-policy-file={policy}", f"--audit-log-path={log}"]


def entries(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
