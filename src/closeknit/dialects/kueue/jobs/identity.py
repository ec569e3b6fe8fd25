"""What an object is called: its kind, its API group, its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...field import Field


@dataclass(frozen=True, slots=True)
class Identity:
    """An object opened for reading. A name that the cluster will generate is known here by its beginning."""

    field: Field
    kind: str
    group: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, where: str, raw: Any) -> Identity:
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
    def owners(self) -> set[str]:
        """The uids of the objects that this one belongs to."""
        return {owner.at("uid").text() for owner in self.field.at("metadata", "ownerReferences").items()}

    def check_kind(self) -> None:
        for key, example in (("apiVersion", "batch/v1"), ("kind", "Job")):
            if not self.field.at(key).text():
                self.field.at(key).wrong("is missing", f"give one such as {example}")

    def check_name(self) -> None:
        meta = self.field.at("metadata")
        if not self.name and not meta.at("name").text() and not meta.at("generateName").text():
            meta.at("name").wrong("is missing", "give the object a name")
        meta.at("namespace").text()


def _plain(mapping: Any, key: str) -> str:
    value = mapping.get(key) if isinstance(mapping, dict) else None
    return value if isinstance(value, str) else ""
