"""Generates the table of protobuf fields that the embedded host decodes requests with.

    PYTHONPATH=tests python -m servers.protobuf [--modules DIR]

kubectl sends the objects that it makes itself as protobuf. Field numbers and types come from the `.proto` files of
k8s.io/api and k8s.io/apimachinery, in the cache of Go modules (`go mod download` fills it); what JSON does with a field
comes from the Go structs beside them: its name, whether it is inlined, and whether it may be unset. Only facts are
taken, for the kinds that the host serves and what they consist of.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from closeknit.cluster.kinds import KINDS

FOLDER = Path(__file__).parents[2] / "src/closeknit/cluster/embedded/schemas"
VERSION = "v0.36.3"
API, META = "k8s.io.api.", "k8s.io.apimachinery.pkg.apis.meta.v1."
MACHINERY = ("pkg/apis/meta/v1", "pkg/api/resource", "pkg/util/intstr", "pkg/runtime")

SPECIAL = {
    META + "Time": "time",
    META + "MicroTime": "micro-time",
    META + "FieldsV1": "json",
    "k8s.io.apimachinery.pkg.runtime.RawExtension": "json",
    "k8s.io.apimachinery.pkg.api.resource.Quantity": "quantity",
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
}
"""Messages with a JSON form of their own."""
PLAIN = {"string": "string", "bool": "bool", "bytes": "bytes", "int32": "int", "int64": "int"}
OTHERS = {
    "authorization.k8s.io/v1 SelfSubjectAccessReview": API + "authorization.v1.SelfSubjectAccessReview",
    "authorization.k8s.io/v1 SelfSubjectRulesReview": API + "authorization.v1.SelfSubjectRulesReview",
    "policy/v1 Eviction": API + "policy.v1.Eviction",
    "v1 Binding": API + "core.v1.Binding",
    "v1 DeleteOptions": META + "DeleteOptions",
}
"""Requests that are no stored objects."""

_MESSAGE = re.compile(r"^message (\w+) \{$(.*?)^\}$", re.M | re.S)
_FIELD = re.compile(r"^  (optional|repeated|required|map<string, (\S+)>)\s+(?:(\S+) )?(\w+) = (\d+);$", re.M)
_STRUCT = re.compile(r"^type (\w+) struct \{$(.*?)^\}$", re.M | re.S)
_MEMBER = re.compile(r'^\t(?:\w+\s+)?(\S+)\s+`json:"([^"]*)" protobuf:"\w+,(\d+)', re.M)


class Member(NamedTuple):
    """What a Go struct says about a field: its JSON name, inlined or not, and whether nil differs from zero."""

    name: str
    is_inline: bool
    is_pointer: bool


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the table of protobuf fields from the sources of k8s.io/api.")
    parser.add_argument("--modules", type=Path, default=Path.home() / "go/pkg/mod", help="cache of Go modules")
    modules = parser.parse_args().modules
    messages = dict(all_messages(modules))
    kinds = {f"{one.api_version} {one.kind}": API + _package(one.group, one.version) + one.kind for one in KINDS}
    kinds = {name: message for name, message in kinds.items() if message in messages} | OTHERS
    used = closure(messages, kinds.values())
    entry = (
        ",\n".join(f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in sorted(part.items()))
        for part in (kinds, {name: messages[name] for name in used})
    )
    heads, bodies = entry
    file = FOLDER / "protobuf.json"
    file.write_text(f'{{"kinds":{{\n{heads}\n}},\n"messages":{{\n{bodies}\n}}}}\n')
    print(f"{file.name}: {len(kinds)} kinds, {len(used)} messages, {file.stat().st_size} bytes")


def _package(group: str, version: str) -> str:
    return f"{group.partition('.')[0] or 'core'}.{version}."


def all_messages(modules: Path) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Every message by its full name: per field number its JSON name, its type, and how it occurs."""
    api, machinery = (modules / f"k8s.io/{name}@{VERSION}" for name in ("api", "apimachinery"))
    folders = [*(one.parent for one in api.glob("*/*/generated.proto")), *(machinery / one for one in MACHINERY)]
    for folder in folders:
        text = (folder / "generated.proto").read_text()
        package = re.search(r"^package (\S+);$", text, re.M)
        assert package is not None, folder
        members = dict(structs(folder))
        for name, body in _MESSAGE.findall(text):
            yield f"{package[1]}.{name}", dict(fields(package[1], body, members.get(name, {})))


def structs(folder: Path) -> Iterator[tuple[str, dict[str, Member]]]:
    for file in sorted(folder.glob("*.go")):
        if "types" in file.name:
            for name, body in _STRUCT.findall(file.read_text()):
                found = _MEMBER.findall(body)
                yield name, {number: _member(kind, tag) for kind, tag, number in found}


def _member(kind: str, tag: str) -> Member:
    name, *options = tag.split(",")
    return Member(name, "inline" in options, kind.startswith("*"))


def fields(package: str, body: str, members: dict[str, Member]) -> Iterator[tuple[str, list[str]]]:
    for how, value, kind, name, number in _FIELD.findall(body):
        member = members.get(number, Member(name, is_inline=False, is_pointer=False))
        occurs = "map" if value else "list" if how == "repeated" else "inline" if member.is_inline else ""
        if not occurs and member.is_pointer:
            occurs = "pointer"
        yield number, [member.name or name, _type(package, value or kind), occurs]


def _type(package: str, name: str) -> str:
    full = name[1:] if name.startswith(".") else f"{package}.{name}"
    return PLAIN.get(name) or SPECIAL.get(full) or full


def closure(messages: dict[str, dict[str, list[str]]], roots: Iterable[str]) -> set[str]:
    found: set[str] = set()
    todo = list(roots)
    while todo:
        name = todo.pop()
        if name in messages and name not in found:
            found.add(name)
            todo += [kind for _, kind, _ in messages[name].values()]
    return found


if __name__ == "__main__":
    main()
