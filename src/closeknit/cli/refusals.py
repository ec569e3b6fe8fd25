"""What a server refused, said so that it can be mended: the object, the field, the remedy."""

from __future__ import annotations

from collections.abc import Iterator

from ..cluster.errors import Conflict, Forbidden, NotFound, Refused, TooManyRequests, Unauthorized


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
            return f"`closeknit get {refused.kind} -A` lists what there is"
        case NotFound():
            return "the cluster does not serve this kind: is its definition installed?"
        case Unauthorized():
            return "the cluster does not know this user: see to the token or the certificate of the kubeconfig"
        case Forbidden():
            return ""
        case Conflict() if any(cause.reason == "FieldManagerConflict" for cause in refused.causes):
            return "leave these fields to their managers, or take them over with --force-conflicts"
        case TooManyRequests():
            return "try again later"
    return ""
