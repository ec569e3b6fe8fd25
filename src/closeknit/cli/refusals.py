"""What a server refused, said so that it can be mended: the object, the field, the remedy."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ..cluster.errors import Conflict, Forbidden, NotFound, Refused, TooManyRequests, Unauthorized, is_of_an_end
from .exit_codes import NOT_HAD
from .hints import hint
from .naming import kinds_by_name


def complain(refused: Refused) -> int:
    """Say it; the exit code is the answer."""
    for sentence in sentences(refused):
        click.echo(f"error: {sentence}", err=True)
    return NOT_HAD


def sentences(refused: Refused) -> Iterator[str]:
    """The server's words, then the fields that they do not mention, then what to do."""
    remedy = remedy_of(refused)
    yield f"{refused.message}; {remedy}" if remedy else refused.message
    for cause in refused.causes:
        if cause.field not in refused.message or not cause.field:
            yield f"{cause.field}: {cause.message}" if cause.field else cause.message


def remedy_of(refused: Refused) -> str:
    match refused:
        case NotFound() if refused.name and refused.kind:
            return f"`{lister(refused.kind)}` lists what there is"
        case NotFound():
            return "the cluster does not serve this kind: is its definition installed?"
        case Unauthorized():
            return "the cluster does not know this user: see to the token or the certificate of the kubeconfig"
        case Forbidden() if is_of_an_end(refused):
            return "wait until the namespace is gone, and try again"
        case Forbidden():
            return ""
        case Conflict() if any(cause.reason == "FieldManagerConflict" for cause in refused.causes):
            return "leave these fields to their managers, or take them over with --force-conflicts"
        case TooManyRequests():
            return "try again later"
    return ""


def lister(plural: str) -> str:
    """The command that shows everything of a kind, in all namespaces where it has some."""
    kind = kinds_by_name().get(plural)
    return hint("get", plural, *(["-A"] if kind is None or kind.namespaced else []))
