"""Messages for requests that an API server rejected: the object, the field, the remedy."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ..cluster.errors import (
    Conflict,
    Forbidden,
    NotFound,
    Refused,
    TooManyRequests,
    Unauthorized,
    is_namespace_terminating,
)
from .exit_codes import UNAVAILABLE
from .hints import hint
from .naming import kinds_by_name


def complain(refused: Refused) -> int:
    """Print the errors, and return the exit code."""
    for sentence in sentences(refused):
        click.echo(f"error: {sentence}", err=True)
    return UNAVAILABLE


def sentences(refused: Refused) -> Iterator[str]:
    """The server's message with a remedy, then each cause that the message does not mention."""
    remedy = remedy_of(refused)
    yield f"{refused.message}; {remedy}" if remedy else refused.message
    for cause in refused.causes:
        if cause.field not in refused.message or not cause.field:
            yield f"{cause.field}: {cause.message}" if cause.field else cause.message


def remedy_of(refused: Refused) -> str:
    match refused:
        case NotFound() if refused.name and refused.kind:
            return f"`{lister(refused.kind)}` lists those that exist"
        case NotFound():
            return "the cluster does not serve this kind: is its CustomResourceDefinition installed?"
        case Unauthorized():
            return "the cluster does not know this user: check the token or the client certificate in the kubeconfig"
        case Forbidden() if is_namespace_terminating(refused):
            return "wait until the namespace is deleted, and try again"
        case Forbidden():
            return ""
        case Conflict() if any(cause.reason == "FieldManagerConflict" for cause in refused.causes):
            return "remove these fields from the manifest, or take them over with --force-conflicts"
        case TooManyRequests():
            return "try again later"
    return ""


def lister(plural: str) -> str:
    """The command that lists a kind, in all namespaces if it is namespaced."""
    kind = kinds_by_name().get(plural)
    return hint("get", plural, *(["-A"] if kind is None or kind.namespaced else []))
