"""What a client may do, as `kubectl auth can-i` asks: everything, or only reading with the read-only token.

Reviews are answered and not stored, and a client posts them without discovery.
"""

from __future__ import annotations

from typing import Any

from ...errors import BadRequest, NotFound
from ...port import Raw
from .addresses import NOT_SERVED
from .verbs import Reply

SERVED = ("authorization.k8s.io", "v1")
VIEW = ("get", "list", "watch")
"""The verbs of the read-only token."""
HIDDEN = "secrets"
"""The resource that the read-only token does not permit."""
_ACCESS, _RULES = "SelfSubjectAccessReview", "SelfSubjectRulesReview"
_KINDS = {f"{kind.lower()}s": kind for kind in (_ACCESS, _RULES)}


def answer(plural: str, body: Any, is_full: bool) -> Reply:
    """The review with its status; raises NotFound for other resources of the group."""
    kind = _KINDS.get(plural)
    if kind is None:
        raise NotFound(NOT_SERVED)
    if not isinstance(body, dict) or body.get("kind", kind) != kind or not isinstance(body.get("spec", {}), dict):
        raise BadRequest(f"the body is not an object of kind {kind}")
    spec = body.get("spec", {})
    status = {"allowed": is_full or _is_read(spec)} if kind == _ACCESS else _rules(is_full)
    return Reply({"apiVersion": "/".join(SERVED), "kind": kind, "spec": spec, "status": status}, code=201)


def _is_read(spec: Raw) -> bool:
    asked = spec.get("resourceAttributes") or spec.get("nonResourceAttributes")
    return isinstance(asked, dict) and asked.get("verb") in VIEW and asked.get("resource") != HIDDEN


def _rules(is_full: bool) -> Raw:
    """Rules cannot say "except Secrets", so the answer for the read-only token is marked as incomplete."""
    verbs = ["*"] if is_full else list(VIEW)
    return {
        "resourceRules": [{"verbs": verbs, "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": verbs, "nonResourceURLs": ["*"]}],
        "incomplete": not is_full,
    }
