"""The name that Kueue gives to the Workload of a job."""

from __future__ import annotations

import hashlib

MAX_PREFIX = 247
HASH = 5


def workload_name(kind: str, group: str, owner: str, uid: str = "", extra: str = "") -> str:
    """`<kind>-<owner>-<hash>`: workload_name("Job", "batch", "name", "uid") == "job-name-ef3a1".

    `extra` is the generation of an elastic job, which has one Workload after another.
    """
    parts = [kind, group, owner, uid, *([extra] if extra else [])]
    digest = hashlib.sha1("\n".join(parts).encode(), usedforsecurity=False).hexdigest()
    return f"{kind.lower()}-{owner}"[:MAX_PREFIX] + f"-{digest[:HASH]}"
