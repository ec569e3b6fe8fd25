"""The part of an API server that is asked about tokens: it accepts one, whose user may get some paths."""

from __future__ import annotations

from typing import Any

from closeknit.cluster.errors import Forbidden

TOKEN = "let-me-in"
PATHS = ("/metrics", "/closeknit/decisions", "/closeknit/config", "/closeknit/numa")


class Reviews:
    """`asked` are the reviews; a token in `audience` is accepted with that audience only."""

    def __init__(self, paths: tuple[str, ...] = PATHS, audience: str = "") -> None:
        self.paths, self.audience = paths, audience
        self.asked: list[dict[str, Any]] = []
        self.is_forbidden = False

    async def tree(self, method: str, where: str, body: dict[str, Any]) -> dict[str, Any]:
        assert method == "POST"
        if self.is_forbidden:
            raise Forbidden("no reviews")
        self.asked.append(body)
        spec = body["spec"]
        if where == "/apis/authentication.k8s.io/v1/tokenreviews":
            is_known = spec["token"] == TOKEN and spec.get("audiences", [""]) == [self.audience]
            user = {"username": "me", "uid": "u", "groups": ["g"], "extra": {"e": ["f"]}}
            return {"status": {"authenticated": True, "user": user} if is_known else {"error": "unknown"}}
        assert where == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        assert (spec["user"], spec["groups"], spec["uid"], spec["extra"]) == ("me", ["g"], "u", {"e": ["f"]})
        wanted = spec["nonResourceAttributes"]
        return {"status": {"allowed": wanted["verb"] == "get" and wanted["path"] in self.paths}}
