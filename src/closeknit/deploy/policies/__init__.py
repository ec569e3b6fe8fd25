"""Admission policies that a Kubernetes API server evaluates itself: jobs are held at creation, invalid ones rejected.

They do what webhooks would do, without a server of ours in the path of every write. What they cannot do, the controller
does afterwards: CEL reads no other objects, and has no hash. `docs/reference/where-rules-are-enforced.md` has the list.
"""

from ...cluster.embedded.rules.settings import AdmissionSettings
from .probe import InForce, policies_tried, policies_work
from .rendering import policies, policies_hash
from .trial import HASH

__all__ = ["HASH", "AdmissionSettings", "InForce", "policies", "policies_hash", "policies_tried", "policies_work"]
