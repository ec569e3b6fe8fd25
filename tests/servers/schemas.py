"""Generates the tables of fields that the embedded host uses, from what the real servers publish.

    PYTHONPATH=tests python -m servers.schemas [--openapi DIR]

Kubernetes' own kinds come from the OpenAPI documents of a kube-apiserver (started here, or saved in a folder, one
file a document), the others from the CustomResourceDefinitions in the Go modules of their makers. Only facts are
taken: types, list and map types, keys, patch strategies, required, enum. Descriptions are left behind. A pod template
inside another kind becomes a reference to the one table of pod templates.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from closeknit.cluster.kinds import KINDS, Kind

from .cluster import RealCluster
from .definitions import definitions
from .versions import DEFINITIONS

FOLDER = Path(__file__).parents[2] / "src/closeknit/cluster/embedded/schemas"
SHARED = "kubernetes"

KEEPS_UNKNOWN = {("Workload", "spec.podSets[].template")}
"""Types that preserve unknown fields: a workload carries the pod template of any kind of job."""

WRITTEN: dict[str, dict[str, Any]] = {
    "Event": {
        **dict.fromkeys(("firstTimestamp", "lastTimestamp", "eventTime")),
        **dict.fromkeys(("reportingComponent", "reportingInstance"), ""),
    },
    "PriorityClass": {"value": 0},
    "StatefulSetSpec": {"serviceName": ""},
}
"""Fields that are written though they are empty, which the documents do not say."""

WORDS = {"Quantity": "quantity", "IntOrString": "int-or-string", "Time": "time", "MicroTime": "micro-time"}
OPEN = {"FieldsV1", "RawExtension"}
FORMATS = {"date-time": "time", "byte": "bytes", "int32": "int32", "int64": "int64", "double": "number"}
QUANTITY = "[numkMGTPE]"

POD_SPEC = "#PodSpec"
SMALL = {"LabelSelector", "LabelSelectorRequirement", "Taint"}
MANY = 4
"""Parts with more fields than that are recognised by them inside other kinds; of smaller ones, only some are."""

Table = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the tables of fields from OpenAPI documents and CRDs.")
    parser.add_argument("--openapi", type=Path, help="folder with saved /openapi/v3 documents")
    folder = parser.parse_args().openapi
    shared = kubernetes(saved(folder) if folder else served())
    write(SHARED, shared)
    groups: dict[str, Table] = {}
    for crd in chain.from_iterable(map(definitions, DEFINITIONS)):
        for kind, schema in wanted(crd):
            table = groups.setdefault(kind.group, {"blanks": {}, "parts": {}})
            table["blanks"][kind.kind] = {"metadata": {}}
            table["parts"][kind.kind] = root(schema, kind, shared["parts"])
            table["parts"].update(dict(pod_spec_differences(schema, shared["parts"])))
    for group, table in groups.items():
        repeated(table["parts"])
        write(group, table)
    missing = [kind for kind in KINDS if not kind.is_built_in and kind.kind not in groups[kind.group]["parts"]]
    assert not missing, missing


def write(name: str, table: Table) -> None:
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / f"{name}.json"
    sections = [f"{json.dumps(key)}:{{\n{lines(value)}\n}}" for key, value in table.items()]
    file.write_text("{" + ",\n".join(sections) + "}\n")
    print(f"{file.name}: {len(table['parts'])} parts, {file.stat().st_size} bytes")


def lines(entries: Table) -> str:
    """One entry per line, so that diffs are readable."""
    return ",\n".join(f"{json.dumps(key)}:{json.dumps(entries[key], separators=(',', ':'))}" for key in sorted(entries))


# Kubernetes' own kinds


def saved(folder: Path) -> Iterator[Table]:
    for file in sorted(folder.glob("*.json")):
        document = json.loads(file.read_text())
        if "components" in document:
            yield document


def served() -> Iterator[Table]:
    with RealCluster(components=()) as cluster:
        for version in dict.fromkeys(kind.api_version for kind in KINDS if kind.is_built_in):
            yield cluster.api.get(f"/openapi/v3/{'apis' if '/' in version else 'api'}/{version}").body


def built_in_parts(documents: Iterable[Table]) -> Table:
    parts: Table = {}
    for document in documents:
        parts.update(document["components"]["schemas"])
    return parts


def schema_name(parts: Table, kind: Kind) -> str:
    wanted = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    return next(name for name, one in parts.items() if wanted in one.get("x-kubernetes-group-version-kind", ()))


def part_name(reference: str) -> str:
    """#/components/schemas/io.k8s.api.core.v1.PodSpec: PodSpec."""
    return reference.rpartition(".")[2]


def reachable(parts: Table, roots: Iterable[str]) -> list[str]:
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in found:
            found[name] = None
            for reference in re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(parts[name])):
                visit(reference)

    for name in roots:
        visit(name)
    names = Counter(map(part_name, found))
    assert max(names.values()) == 1, names
    return list(found)


def kubernetes(documents: Iterable[Table]) -> Table:
    parts = built_in_parts(documents)
    roots = {kind.kind: schema_name(parts, kind) for kind in KINDS if kind.is_built_in}
    short = {part_name(name): parts[name] for name in reachable(parts, roots.values())}
    return {
        "blanks": {kind: blank(parts, name) for kind, name in roots.items()},
        "parts": {name: part(one) for name, one in short.items() if name not in WORDS and name not in OPEN},
    }


def part(schema: Table) -> Table:
    """A named part: its fields, which are required, and what a field is if it is not given."""
    properties = schema.get("properties", {})
    found: Table = {"fields": {name: described(one) for name, one in properties.items()}}
    if need := schema.get("required"):
        found["need"] = need
    if schema.get("x-kubernetes-map-type") == "atomic":
        found["atomic"] = True
    if default := {name: one["default"] for name, one in properties.items() if one.get("default")}:
        found["default"] = default
    return found


def blank(parts: Table, name_of: str) -> Table:
    """What Go writes for an empty object: fields that are not pointers or have no omitempty."""
    found: Table = {}
    schema = parts[name_of]
    for name, one in schema.get("properties", {}).items():
        inner = reference(one).rpartition("/")[2]
        if one.get("default") == {} and inner in parts:
            found[name] = blank(parts, inner)
        elif name in schema.get("required", ()):
            found[name] = one.get("default")
    return {**found, **WRITTEN.get(part_name(name_of), {})}


def reference(schema: Table) -> str:
    target: str = schema.get("$ref") or next((one["$ref"] for one in schema.get("allOf", ()) if "$ref" in one), "")
    return target


def described(schema: Table) -> Any:
    """One field in its shortest form."""
    extra: Table = {}
    if enum := schema.get("enum"):
        extra["enum"] = enum
    if strategy := schema.get("x-kubernetes-patch-strategy"):
        extra["strategy"] = strategy
    if key := schema.get("x-kubernetes-patch-merge-key"):
        extra["key"] = key
    if schema.get("x-kubernetes-map-type") == "atomic":
        extra["atomic"] = True
    if target := reference(schema):
        name = part_name(target)
        if name in OPEN:
            return {"of": "any", "atomic": True}
        return with_extra(WORDS.get(name, f"#{name}"), extra)
    if schema.get("type") == "array":
        return {"list": described(schema["items"]), **list_type(schema), **extra}
    if "additionalProperties" in schema:
        return {"map": described(schema["additionalProperties"]), **extra}
    return with_extra(scalar(schema), extra)


def with_extra(form: str, extra: Table) -> Any:
    return {"of": form, **extra} if extra else form


def list_type(schema: Table) -> Table:
    match schema.get("x-kubernetes-list-type"):
        case "map":
            return {"keys": schema["x-kubernetes-list-map-keys"]}
        case "set":
            return {"set": True}
    return {}


def scalar(schema: Table) -> str:
    if schema.get("type") == "object":
        return "any"
    word: str = schema["type"]
    return FORMATS.get(schema.get("format", ""), word)


# Kinds that others define


def wanted(crd: Table) -> Iterator[tuple[Kind, Table]]:
    spec = crd["spec"]
    for version in spec["versions"]:
        for kind in KINDS:
            if (kind.group, kind.version, kind.kind) == (spec["group"], version["name"], spec["names"]["kind"]):
                assert kind.status == ("status" in (version.get("subresources") or {})), kind
                yield kind, version["schema"]["openAPIV3Schema"]


def root(schema: Table, kind: Kind, shared: Table) -> Table:
    schema = {**schema, "properties": {**schema["properties"]}}
    del schema["properties"]["metadata"]
    found: Table = custom(schema, kind.kind, "", shared)
    found["fields"]["metadata"] = "#ObjectMeta"
    return found


def custom(schema: Table, kind: str, path: str, shared: Table) -> Any:
    """A field of a custom kind; one that is a part of Kubernetes' becomes a reference to that."""
    extra: Table = {}
    if enum := schema.get("enum"):
        extra["enum"] = enum
    if schema.get("nullable"):
        extra["null"] = True
    if schema.get("x-kubernetes-map-type") == "atomic":
        extra["atomic"] = True
    if schema.get("x-kubernetes-preserve-unknown-fields") or (kind, path) in KEEPS_UNKNOWN:
        extra["open"] = True
    if schema.get("x-kubernetes-int-or-string"):
        return with_extra("quantity" if QUANTITY in schema.get("pattern", "") else "int-or-string", extra)
    if schema.get("type") == "array":
        return {"list": custom(schema["items"], kind, f"{path}[]", shared), **list_type(schema), **extra}
    if isinstance(schema.get("additionalProperties"), dict):
        return {"map": custom(schema["additionalProperties"], kind, f"{path}{{}}", shared), **extra}
    if schema.get("type") == "object":
        return custom_object(schema, kind, path, shared, extra)
    if extra.pop("open", None):
        return "any"
    return with_extra(scalar(schema), extra)


def custom_object(schema: Table, kind: str, path: str, shared: Table, extra: Table) -> Any:
    properties = schema.get("properties", {})
    if {"containers", "schedulerName"} <= properties.keys():
        return POD_SPEC
    fields = {name: custom(one, kind, f"{path}.{name}" if path else name, shared) for name, one in properties.items()}
    found: Table = {"fields": fields}
    if need := schema.get("required"):
        found["need"] = need
    if default := {name: one["default"] for name, one in properties.items() if is_value(one.get("default"))}:
        found["default"] = default
    same = next((name for name in sorted(shared) if is_same(name, shared[name], {**found, **extra})), "")
    if same:
        return with_extra(f"#{same}", {key: value for key, value in extra.items() if key != "atomic"})
    return {**found, **extra}


def pod_spec_differences(schema: Table, shared: Table) -> Iterator[tuple[str, Table]]:
    """Parts of a pod's spec that have one owner inside this kind, though not in a pod."""
    properties = schema.get("properties", {})
    if {"containers", "schedulerName"} <= properties.keys():
        yield from owned_whole(schema, POD_SPEC, shared)
    else:
        for inner in (*properties.values(), schema.get("items"), schema.get("additionalProperties")):
            if isinstance(inner, dict):
                yield from pod_spec_differences(inner, shared)


def owned_whole(schema: Table, form: Any, shared: Table) -> Iterator[tuple[str, Table]]:
    if isinstance(form, dict):
        inner = schema.get("items") or schema.get("additionalProperties")
        if inner:
            yield from owned_whole(inner, form.get("list") or form.get("map"), shared)
    elif form.startswith("#"):
        part = shared[form[1:]]
        if schema.get("x-kubernetes-map-type") == "atomic" and not part.get("atomic"):
            yield form[1:], {**part, "atomic": True}
        for name, one in schema.get("properties", {}).items():
            if name in part["fields"]:
                yield from owned_whole(one, part["fields"][name], shared)


def is_value(default: Any) -> bool:
    return default is not None and not isinstance(default, dict | list)


def is_same(name: str, part: Table, found: Table) -> bool:
    return (name in SMALL or len(part["fields"]) > MANY) and plain(part) == plain(found)


def plain(value: Any) -> Any:
    """A description without what only strategic patches and messages need: two that agree in the rest are the same."""
    if isinstance(value, dict):
        kept = {
            key: plain(one)
            for key, one in value.items()
            if key not in ("strategy", "key", "enum", "need", "default", "null") or key == "fields"
        }
        return kept["of"] if kept.keys() == {"of"} else kept
    return value


def repeated(parts: Table) -> None:
    """Objects that are spelled out more than once get a name: the path of the first."""
    seen: dict[str, str] = {}

    def visit(value: Any, path: str, again: Mapping[str, int]) -> Any:
        if not isinstance(value, dict):
            return value
        text = json.dumps(value, sort_keys=True)
        if "fields" in value and len(text) > 200 and again[text] > 1:
            if text in seen:
                return f"#{seen[text]}"
            seen[text] = path
            parts[path] = inner(value, path, again)
            return f"#{path}"
        return inner(value, path, again)

    def inner(value: Table, path: str, again: Mapping[str, int]) -> Table:
        found = dict(value)
        if "fields" in value:
            found["fields"] = {name: visit(one, f"{path}.{name}", again) for name, one in value["fields"].items()}
        for key in ("list", "map", "of"):
            if key in value:
                found[key] = visit(value[key], path, again)
        return found

    again: Counter[str] = Counter()

    def count(value: Any) -> None:
        if isinstance(value, dict):
            if "fields" in value:
                again[json.dumps(value, sort_keys=True)] += 1
                for one in value["fields"].values():
                    count(one)
            for key in ("list", "map", "of"):
                count(value.get(key))

    for one in parts.values():
        count(one)
    for name in list(parts):
        parts[name] = inner(parts[name], name, again)


if __name__ == "__main__":
    main()
