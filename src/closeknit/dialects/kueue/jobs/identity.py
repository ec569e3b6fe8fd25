"""The identity of an object: its kind, API group, namespace and name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....model.label_names import MAX_PREFIX, is_subdomain
from ...field import Field, shown


@dataclass(frozen=True, slots=True)
class ObjectIdentity:
    """An object to be read. For an object with `generateName`, that prefix is used as its name."""

    field: Field
    kind: str
    group: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, where: str, raw: Any) -> ObjectIdentity:
        kind = _plain(raw, "kind")
        group, slash, _ = _plain(raw, "apiVersion").partition("/")
        meta = raw.get("metadata") if isinstance(raw, dict) else None
        name = _plain(meta, "name") or _plain(meta, "generateName")
        namespace = _plain(meta, "namespace")
        what = f"{kind or 'object'} {f'{namespace}/' if namespace else ''}{name or '(without a name)'}"
        field = Field.root(raw, where, what)
        return cls(field, kind, group if slash else "", namespace or "default", name, _plain(meta, "uid"))

    @property
    def what(self) -> str:
        return self.field.report.what

    @property
    def version(self) -> str:
        """The API group with its version: batch/v1."""
        return _plain(self.field.value, "apiVersion")

    @property
    def owners(self) -> set[str]:
        """The uids of the object's owners."""
        return {owner.at("uid").text() for owner in self.field.at("metadata", "ownerReferences").items()}

    def check_kind(self) -> None:
        for key, example in (("apiVersion", "batch/v1"), ("kind", "Job")):
            if not self.field.at(key).text():
                self.field.at(key).wrong("is missing", f"set one such as {example}")

    def check_name(self) -> None:
        check_name(self.field.at("metadata"))


def check_name(meta: Field) -> None:
    """Check the name, or its beginning, and that the namespace is text."""
    if not meta.at("name").text() and not meta.at("generateName").text():
        meta.at("name").wrong("is missing", "set a name")
    _check_form(meta.at("name"), meta.at("name").text())
    prefix = meta.at("generateName").text()
    _check_form(meta.at("generateName"), prefix + "x" if prefix else "")  # the generated suffix follows a final dash
    meta.at("namespace").text()


def _check_form(field: Field, name: str) -> None:
    if name and not is_subdomain(name):
        remedy = "use lower-case letters, digits, dashes and dots, with a letter or digit at both ends"
        field.wrong(f"is {shown(field.value)}, not a valid name", f"{remedy}, at most {MAX_PREFIX} characters")


def _plain(mapping: Any, key: str) -> str:
    value = mapping.get(key) if isinstance(mapping, dict) else None
    return value if isinstance(value, str) else ""
