"""ConfigMaps and Secrets: data by keys, which can be made immutable."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from ....dialects.field import Field
from ...errors import BadRequest
from ...port import Raw
from .causes import Causes
from .rule import IMMUTABLE, KindRule

MAX_SIZE = 2**20
NEEDED = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/basic-auth": ("username", "password"),
}
"""The keys that Secrets of a type have to have."""

ACCOUNT_TOKEN, ACCOUNT = "kubernetes.io/service-account-token", "kubernetes.io/service-account.name"

_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_FIXED = "the object is marked as immutable"


def _filled_secret(raw: Raw) -> Raw:
    """Move `stringData` into `data`; it is write-only."""
    plain: Any = raw.get("stringData") or {}
    result = {key: value for key, value in raw.items() if key != "stringData"}
    if plain:
        encoded = {key: base64.b64encode(str(value).encode()).decode() for key, value in plain.items()}
        result["data"] = {**(raw.get("data") or {}), **encoded}
    for value in (result.get("data") or {}).values():
        _decoded(value)
    return {"type": "Opaque", **result}


def _filled_config_map(raw: Raw) -> Raw:
    for value in (raw.get("binaryData") or {}).values():
        _decoded(value)
    return raw


def _decoded(value: Any) -> bytes:
    try:
        return base64.b64decode(value or "", validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise BadRequest(f"data that is not base64 cannot be decoded: {error}") from error


def _check_secret(raw: Field, causes: Causes) -> None:
    data = raw.at("data")
    _check_keys(data, causes)
    if sum(len(str(value)) for value in data.mapping().values()) * 3 // 4 > MAX_SIZE:
        causes.too_long(data, MAX_SIZE)
    kind = raw.at("type").text()
    for key in NEEDED.get(kind, ()):
        if key not in data.mapping():
            causes.required(f"{data.path}[{key}]")
    if kind == ACCOUNT_TOKEN and not raw.at("metadata", "annotations", ACCOUNT).text():
        causes.required(f"metadata.annotations[{ACCOUNT}]")


def _check_config_map(raw: Field, causes: Causes) -> None:
    data, binary = raw.at("data"), raw.at("binaryData")
    _check_keys(data, causes)
    _check_keys(binary, causes)
    for key in data.mapping().keys() & binary.mapping().keys():
        causes.invalid(f"{data.path}[{key}]", "is also a key of binaryData", key)
    if sum(len(str(value)) for part in (data, binary) for value in part.mapping().values()) > MAX_SIZE:
        causes.too_long("", MAX_SIZE)


def _check_keys(data: Field, causes: Causes) -> None:
    for key in data.mapping():
        if len(key) > 253 or not _KEY.fullmatch(key) or key in (".", ".."):
            causes.invalid(f"{data.path}[{key}]", "use at most 253 letters, digits, '-', '_' and '.'", key)


def _check_change(old: Field, new: Field, causes: Causes) -> None:
    if old.at("type").value != new.at("type").value:
        causes.invalid(new.at("type"), IMMUTABLE)
    if old.at("immutable").value is not True:
        return
    for key in ("immutable", "data", "binaryData"):
        if (old.at(key).value or None) != (new.at(key).value or None):
            causes.forbidden(new.at(key), _FIXED)


CONFIG_MAP_RULE = KindRule(_filled_config_map, check=_check_config_map, change=_check_change)
SECRET_RULE = KindRule(_filled_secret, check=_check_secret, change=_check_change)
