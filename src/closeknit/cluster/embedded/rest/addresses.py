"""Parsing API paths: the kind and, as far as they are given, namespace, name and subresource.

/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME/PART
/apis/batch/v1/namespaces/team/jobs/train/status
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

from ....dialects.kueue.objects.versions import OLD_VERSIONS, V1BETA2
from ...errors import BadRequest, NotFound
from ...kinds import KINDS, NAMESPACE, POD, Kind

NOT_SERVED = "the server could not find the requested resource"
OLD_VERSION = (
    f"this version is not served, {V1BETA2} is: `closeknit convert` rewrites manifests, `closeknit apply` sends them"
)
"""The error message for clients of older versions of Kueue."""
NOT_ALLOWED = "the server does not allow this method on the requested resource"
BINDINGS = "bindings"
"""The other path for binding pods, where the body names the pod."""

_BY_PLURAL = {(kind.group, kind.version, kind.plural): kind for kind in KINDS}
_GROUPS = {(kind.group, kind.version) for kind in KINDS}


class ResourcePath(NamedTuple):
    """The object of a path. Without a name: the collection; without a namespace too: that of the whole cluster."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    part: str = ""

    @property
    def is_across(self) -> bool:
        """Whether it means all namespaces of a namespaced kind."""
        return self.kind.namespaced and not self.namespace


def steps(path: str) -> list[str]:
    """The segments of a path; a trailing slash makes no difference."""
    try:
        parts = [unquote(part, errors="strict") for part in path.removeprefix("/").split("/")]
        "".join(parts).encode()
    except UnicodeError:
        raise BadRequest("the path is not UTF-8") from None
    return parts[:-1] if len(parts) > 1 and not parts[-1] else parts


def is_served(group: str, version: str) -> bool:
    return (group, version) in _GROUPS


def address(group: str, version: str, parts: list[str]) -> ResourcePath:
    """The address of the segments after /api/v1 or /apis/GROUP/VERSION; raises NotFound."""
    if f"{group}/{version}" in OLD_VERSIONS:
        raise NotFound(f"{group}/{version}: {OLD_VERSION}")
    if not is_served(group, version) or not 1 <= len(parts) <= 5 or not all(parts):
        raise NotFound(NOT_SERVED)
    if not group and parts[0] == NAMESPACE.plural and parts[2:] == [BINDINGS]:
        return ResourcePath(POD, parts[1], part="binding")
    if parts[0] == NAMESPACE.plural and len(parts) > 2 and (group, version, parts[2]) in _BY_PLURAL:
        kind = _BY_PLURAL[group, version, parts[2]]
        found = ResourcePath(kind, parts[1], *parts[3:])
        is_right = kind.namespaced
    else:
        if (group, version, parts[0]) not in _BY_PLURAL or len(parts) > 3:
            raise NotFound(NOT_SERVED)
        kind = _BY_PLURAL[group, version, parts[0]]
        found = ResourcePath(kind, "", *parts[1:])
        is_right = not kind.namespaced or len(parts) == 1
    if not is_right:
        raise NotFound(NOT_SERVED)
    return found
