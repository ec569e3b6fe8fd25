"""What a client may do, as `kubectl auth can-i` asks: everything, since the token of this host permits everything.

Reviews are answered and not stored, and a client posts them without discovery.
"""

from __future__ import annotations

from typing import Any

from ...errors import BadRequest, NotFound
from ...port import Raw
from .addresses import NOT_SERVED
from .verbs import Reply

SERVED = ("authorization.k8s.io", "v1")
_ALL = ["*"]
_RULES: Raw = {
    "resourceRules": [{"verbs": _ALL, "apiGroups": _ALL, "resources": _ALL}],
    "nonResourceRules": [{"verbs": _ALL, "nonResourceURLs": _ALL}],
    "incomplete": False,
}
_KINDS: dict[str, tuple[str, Raw]] = {
    "selfsubjectaccessreviews": ("SelfSubjectAccessReview", {"allowed": True}),
    "selfsubjectrulesreviews": ("SelfSubjectRulesReview", _RULES),
}


def answer(plural: str, body: Any) -> Reply:
    """The review with its status; raises NotFound for other resources of the group."""
    if plural not in _KINDS:
        raise NotFound(NOT_SERVED)
    kind, status = _KINDS[plural]
    if not isinstance(body, dict) or body.get("kind", kind) != kind or not isinstance(body.get("spec", {}), dict):
        raise BadRequest(f"the body is not an object of kind {kind}")
    version = "/".join(SERVED)
    return Reply({"apiVersion": version, "kind": kind, "spec": body.get("spec", {}), "status": status}, code=201)
