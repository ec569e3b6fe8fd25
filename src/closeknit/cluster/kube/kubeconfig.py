"""Kubeconfig files: named clusters, users and contexts, and the file of each.

Of several files the first that defines a name counts, and paths in a file are relative to it. Errors name the file, the
entry and the field.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ...model.mistake import InputError, refuse
from ...model.nearest import did_you_mean

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class KubeconfigEntry:
    """One named cluster, user or context, and its file."""

    file: Path
    kind: str
    name: str
    fields: Tree

    def text(self, field: str) -> str:
        return str(self.fields.get(field) or "")

    def texts(self, field: str) -> tuple[str, ...]:
        found = self.fields.get(field) or ()
        if isinstance(found, str) or not isinstance(found, list | tuple):
            raise self.wrong(field, "is not a list", "write it as a list of strings")
        return tuple(map(str, found))

    def tree(self, field: str) -> Tree:
        found = self.fields.get(field) or {}
        if not isinstance(found, dict):
            raise self.wrong(field, "is not a mapping of names to values", "write it as one")
        return found

    def path(self, field: str) -> str:
        """A path, resolved relative to its file."""
        return str(self.file.parent / self.text(field)) if self.text(field) else ""

    def program(self, field: str) -> str:
        """A command: a bare name is looked up on the PATH, anything else is a path."""
        return self.path(field) if os.sep in self.text(field) else self.text(field)

    def pem(self, field: str) -> str:
        """A PEM text: the inline data, otherwise the content of the named file."""
        data = self.text(f"{field}-data")
        try:
            if data:
                return b64decode(data, validate=True).decode()
            return Path(self.path(field)).read_text() if self.text(field) else ""
        except OSError as error:
            raise self.wrong(field, f"{self.path(field)} cannot be read: {error.strerror}", "fix the path") from None
        except ValueError:
            raise self.wrong(f"{field}-data", "is not the Base64 of a PEM text", "write it again") from None

    def address(self, field: str) -> str:
        url = urlsplit(self.text(field))
        if url.scheme not in ("https", "http") or not url.hostname:
            raise self.wrong(
                field, f'"{self.text(field)}" is not an address', "write one such as https://10.0.0.1:6443"
            )
        return self.text(field).rstrip("/")

    def refuse_all(self, fields: Sequence[str]) -> None:
        for field in fields:
            if self.fields.get(field):
                remedy = "use an entry without it; a user may have a token, a client certificate or an exec plug-in"
                raise self.wrong(field, "is not supported", remedy)

    def wrong(self, field: str, text: str, remedy: str) -> InputError:
        return refuse(text, remedy, str(self.file), f"{self.kind} {self.name}", field)


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """Several files read as one."""

    source: str
    trees: tuple[tuple[Path, Tree], ...]

    def current(self) -> str:
        """The name of the current context."""
        for _, tree in self.trees:
            if tree.get("current-context"):
                return str(tree["current-context"])
        known = ", ".join(one.name for one in self.entries("contexts"))
        raise refuse("names no current context", f"choose one by --context: {known}", self.source)

    def find(self, kind: str, name: str) -> KubeconfigEntry:
        entries = list(self.entries(kind))
        found = next((one for one in entries if one.name == name), None)
        if found is None:
            known = list(dict.fromkeys(one.name for one in entries))
            remedy = did_you_mean(name, known) + (f"there are: {', '.join(known)}" if known else f"there are no {kind}")
            raise refuse(f'has no {kind.removesuffix("s")} "{name}"', remedy, self.source)
        return found

    def entries(self, kind: str) -> Iterator[KubeconfigEntry]:
        singular = kind.removesuffix("s")
        for file, tree in self.trees:
            for one in tree.get(kind) or ():
                if not isinstance(one, dict) or not isinstance(one.get(singular) or {}, dict):
                    raise refuse("has an entry of the wrong form", "fix it", str(file), field=kind)
                yield KubeconfigEntry(file, singular, str(one.get("name", "")), one.get(singular) or {})


def read(files: Sequence[Path]) -> Kubeconfig:
    """Read kubeconfig files as one; of several, missing ones are skipped, as kubectl does."""
    present = tuple((file, _parsed(file)) for file in files if file.exists() or len(files) == 1)
    return Kubeconfig(", ".join(map(str, files)), present)


def _parsed(file: Path) -> Tree:
    """Parse a kubeconfig; JSON, the form that Closeknit writes, needs no YAML library."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise refuse(f"cannot be read: {error.strerror}", "give the path of a kubeconfig", str(file)) from None
    try:
        tree = msgspec.json.decode(data)
    except msgspec.DecodeError:
        import yaml

        try:
            tree = yaml.safe_load(data)
        except yaml.YAMLError as error:
            said = str(error).replace("\n", " ")
            raise refuse(f"is not a kubeconfig: {said}", "give another file", str(file)) from None
    if not isinstance(tree, dict):
        raise refuse("is not a kubeconfig", "give another file", str(file))
    return tree
