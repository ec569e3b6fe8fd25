"""Errors as responses: a Status object, as Kubernetes sends it."""

from __future__ import annotations

from aiohttp import web

from ...errors import Refused
from . import forms


def response(refused: Refused) -> web.Response:
    status = refused.status()
    status["message"] = status["message"].encode("utf-8", "replace").decode()
    result = web.Response(body=forms.encoded(status), status=refused.code, content_type=forms.JSON)
    if refused.retry_after is not None:
        result.headers["Retry-After"] = str(refused.retry_after)
    return result
