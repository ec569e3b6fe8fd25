"""Annotations of a pod template to a topology request."""

from __future__ import annotations

from typing import Any

import msgspec

from closeknit.dialects.kueue.topology_request import AnnotationError, build
from closeknit.model.request import Ranks

from .case import Case, Prepared, gates, tidy


def request_builder(case: Case) -> Prepared:
    annotations = (case.get("meta") or {}).get("annotations") or {}
    ranks = Ranks(case.get("podIndexLabel"), case.get("subGroupIndexLabel"), case.get("subGroupCount"))
    on = gates(case)

    def decide() -> Any:
        try:
            return build(annotations, on, ranks)
        except AnnotationError:
            return "error"

    def show(answer: Any) -> Any:
        return answer if answer in (None, "error") else tidy(msgspec.to_builtins(answer)) or None

    want = "error" if case.get("wantErr") else tidy(case.get("wantReq") or {}) or None
    return Prepared(decide, show, want)
