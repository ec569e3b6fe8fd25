"""Request bodies, decoded into trees of JSON values that are safe to work with.

A tree is not nested deeper than recursive code can walk, and contains no numbers that JSON does not have. The kind of
the object is checked here too; the schema checks its fields, and the rules check their meaning.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from ....dialects.kueue.objects.versions import OLD_VERSIONS
from ...errors import BadRequest, TooLarge, UnsupportedMediaType
from ...kinds import Kind
from ...port import Raw
from ...yaml_pieces import YamlPieces
from ..depth import DEEPEST, is_too_deep
from . import protobuf
from .addresses import OLD_VERSION

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
MOST_BYTES = 3 << 20
MOST_YAML = 1 << 20
"""The limit for YAML, which is parsed forty times slower than JSON."""

_NOT_ASKED = "the token of this host permits everything, so there is nothing to grant or check"
_REMEDY = "with kubectl, add: --dry-run=client -o yaml | kubectl create -f -"


def too_large() -> TooLarge:
    return TooLarge(f"Request entity too large: limit is {MOST_BYTES}")


def media_type(header: str) -> str:
    """media_type("application/json; charset=utf-8") == "application/json"; JSON is the default."""
    return header.partition(";")[0].strip().lower() or JSON


def protobuf_tree(data: bytes) -> Any:
    """A body in protobuf, which kubectl sends for objects that it makes itself; only the kinds of a table are known."""
    found = protobuf.decoded(data)
    if found is None:
        raise unknown_protobuf(is_served=True)
    _check_depth(found, data)
    return found


def unknown_protobuf(is_served: bool) -> UnsupportedMediaType:
    """The refusal of protobuf for a kind that is not in the table; where the kind is served, JSON is another way."""
    return UnsupportedMediaType(f"protobuf is not supported for this kind; {_REMEDY if is_served else _NOT_ASKED}")


def tree(data: bytes, media: str) -> Any:
    """The body as a tree; raises a Refused if it cannot be decoded."""
    if media == PROTOBUF:
        return protobuf_tree(data)
    if media not in (JSON, YAML):
        raise UnsupportedMediaType(f"the body is {media}; supported are {JSON} and {YAML}")
    return json_tree(data) if media == JSON else yaml_tree(data)


def json_tree(data: bytes) -> Any:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    _check_depth(value, data)
    return value


def yaml_tree(data: bytes) -> Any:
    """A body in YAML, which includes JSON; one document, no aliases."""
    try:
        return json_tree(data)
    except BadRequest:
        pass
    if len(data) > MOST_YAML:
        raise TooLarge(f"a YAML body may have at most {MOST_YAML} bytes; send JSON")
    try:
        pieces = list(_Plain(io.BytesIO(data)))
    except (yaml.YAMLError, UnicodeError, RecursionError, ValueError, OverflowError) as error:
        raise BadRequest(f"the body is not YAML: {error}") from None
    if len(pieces) != 1:
        raise BadRequest(f"the body has to be one object, not {len(pieces)}")
    return json_tree(pieces[0])


class _Plain(YamlPieces):
    """YAML without aliases: a few lines of them can expand to more than fits into memory."""

    def _alias(self, event: Any) -> Any:
        raise BadRequest("aliases in a YAML body are not supported")


def _check_depth(value: Any, data: bytes) -> None:
    if data.count(b"{") + data.count(b"[") > DEEPEST and is_too_deep(value):
        raise BadRequest(f"the body is nested more than {DEEPEST} levels deep")


def repeated(data: bytes) -> list[str]:
    """The duplicate fields in the objects of a JSON text, of which only the last counts."""
    found = False

    def noticed(pairs: list[tuple[str, Any]]) -> _Pairs:
        nonlocal found
        found = found or len({name for name, _ in pairs}) < len(pairs)
        return _Pairs(pairs)

    try:
        value = json.loads(data, object_pairs_hook=noticed)
    except (ValueError, RecursionError):
        return []
    return list(_repeated(value, "")) if found else []


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as a list of fields."""


def _repeated(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, _Pairs):
        seen = set()
        for name, inner in value:
            here = f"{path}.{name}" if path else name
            if name in seen:
                yield here
            seen.add(name)
            yield from _repeated(inner, here)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _repeated(inner, f"{path}[{number}]")


def object_of(kind: Kind, value: Any, namespace: str, name: str = "") -> Raw:
    """The tree as an object of this kind, checked against the path; without a name: an object to create."""
    if not isinstance(value, dict):
        raise BadRequest(f"the body is not an object of kind {kind.kind}")
    of, version = value.get("kind") or kind.kind, value.get("apiVersion") or kind.api_version
    if (of, version) != (kind.kind, kind.api_version):
        remedy = f"; {OLD_VERSION}" if version in OLD_VERSIONS else ""
        text = f"{of} in version {version} cannot be handled as a {kind.kind} in version {kind.api_version}"
        raise BadRequest(text + remedy)
    meta = value.get("metadata")
    if not isinstance(meta, dict | None):
        raise BadRequest(f"{kind.kind} cannot be read: metadata is not an object")
    meta = meta or {}
    if any(not isinstance(meta.get(field), str | None) for field in ("name", "generateName", "namespace", "uid")):
        raise BadRequest(f"{kind.kind} cannot be read: name, generateName, namespace and uid have to be strings")
    if not isinstance(meta.get("resourceVersion"), str | None):
        raise BadRequest(f"{kind.kind} cannot be read: metadata.resourceVersion has to be a string")
    given = meta.get("namespace") or namespace
    if kind.namespaced and given != namespace:
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
    if name and not meta.get("name"):
        raise BadRequest(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if name and meta["name"] != name:
        raise BadRequest(f"the name of the object ({meta['name']}) does not match the name on the URL ({name})")
    return {**value, "metadata": {**meta, "namespace": namespace} if kind.namespaced else meta}
