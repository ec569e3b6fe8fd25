"""Compares our CRDs with Kueue's, and prints the differences as tables for the documentation.

    PYTHONPATH=tests python -m peers.crds [--module sigs.k8s.io/kueue@v0.19.2]

Compared are the paths of fields, types, enums, defaults, limits, required fields, how lists merge, short names, scopes,
selectable fields and columns of v1beta2. Inside pod templates nothing is compared: ours are open. Rules in CEL are not
compared but counted; what they refuse is compared case by case in `corpus`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from closeknit.cluster.kinds import WORKLOAD
from closeknit.deploy.crds import definitions
from servers.build import go

MODULE = "sigs.k8s.io/kueue@v0.19.2"
FOLDER = "config/components/crd/bases"
VERSION = "v1beta2"
TEMPLATE = "spec.podSets[].template"
FACTS = (
    *("type", "format", "enum", "default", "required", "nullable"),
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-int-or-string"),
)
SAMPLES = (
    *("", "a", "a-b", "A", "Ab-c", "a_b", "a.b", "-a", "a b", "9", "a" * 63, "a" * 64, "a:b", "a,b"),
    *("example.com/rack", "example.com/" + "r" * 64, "a/b/c", "/a", "Example.com/rack"),
    *("0", "1.5Gi", "+3k", "-0", "-1", "-0.5", "1e3", "1E+3", ".5", "5.", "1n", "much", "1 Gi", "Gi"),
)
"""Sample texts by which patterns are compared, however they are written."""

INT32 = {"minimum": -(2**31), "maximum": 2**31 - 1}
"""Bounds that the format implies."""

Raw = dict[str, Any]


class Difference(NamedTuple):
    """A difference of one fact at one path; None: it is absent."""

    kind: str
    path: str
    fact: str
    ours: Any
    theirs: Any


def theirs(module: str) -> dict[str, Raw]:
    command = [go(), "mod", "download", "-json", module]
    folder = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, cwd="/").stdout)["Dir"]
    found = (yaml.load(file.read_text(), yaml.CSafeLoader) for file in sorted((Path(folder) / FOLDER).glob("*.yaml")))
    return {one["spec"]["names"]["kind"]: one for one in found}


def served(crd: Raw) -> Raw:
    found: Raw = next(one for one in crd["spec"]["versions"] if one["name"] == VERSION)
    return found


def places(part: Raw, path: str = "") -> Iterator[tuple[str, Raw]]:
    yield path, part
    if path == TEMPLATE or path == "metadata":
        return
    for name, one in part.get("properties", {}).items():
        yield from places(one, f"{path}.{name}" if path else name)
    if isinstance(part.get("items"), dict):
        yield from places(part["items"], f"{path}[]")
    if isinstance(part.get("additionalProperties"), dict):
        yield from places(part["additionalProperties"], f"{path}{{}}")


def fact(part: Raw, name: str) -> Any:
    """The fact without irrelevant differences: the order of words, and bounds that the format implies."""
    value = part.get(name)
    if name in INT32 and part.get("format") == "int32" and value == INT32[name]:
        return None
    return sorted(value, key=str) if name in ("enum", "required") and value else value


def differences(kind: str, our: Raw, their: Raw) -> Iterator[Difference]:
    yield from around(kind, our, their)
    mine = dict(places(served(our)["schema"]["openAPIV3Schema"]))
    other = dict(places(served(their)["schema"]["openAPIV3Schema"]))
    for path in sorted(mine.keys() | other.keys()):
        if path not in mine or path not in other:
            yield Difference(kind, path, "field", path in mine or None, path in other or None)
            continue
        for name in FACTS:
            pair = fact(mine[path], name), fact(other[path], name)
            if pair[0] != pair[1] and path != TEMPLATE:
                yield Difference(kind, path, name, *pair)
        refused = refused_by(mine[path]), refused_by(other[path])
        if refused[0] != refused[1]:
            only = some(refused[0] - refused[1]), some(refused[1] - refused[0])
            yield Difference(kind, path, "refuses, for example", *only)


def refused_by(part: Raw) -> set[str]:
    """The samples that the pattern refuses."""
    form = re.compile(part.get("pattern", "").replace("^(?i)", "(?i)^"))
    return {one for one in SAMPLES if not form.search(one)}


def some(texts: set[str]) -> list[str] | None:
    """The shortest."""
    return sorted(texts, key=lambda one: (len(one), one))[:3] or None


def around(kind: str, our: Raw, their: Raw) -> Iterator[Difference]:
    """The parts of a CRD outside of its schema."""
    pairs = [
        ("short names", *(one["spec"]["names"].get("shortNames") for one in (our, their))),
        ("categories", *(one["spec"]["names"].get("categories") for one in (our, their))),
        ("scope", our["spec"]["scope"], their["spec"]["scope"]),
        ("versions", *([one["name"] for one in crd["spec"]["versions"]] for crd in (our, their))),
        ("selectable", *(served(one).get("selectableFields") for one in (our, their))),
        ("status is a part of its own", *("status" in served(one).get("subresources", {}) for one in (our, their))),
        ("columns", *(columns(served(one)) for one in (our, their))),
    ]
    for name, mine, other in pairs:
        if mine != other:
            yield Difference(kind, "", name, mine, other)


def columns(version: Raw) -> list[tuple[str, str, str, int]]:
    found = version.get("additionalPrinterColumns", [])
    return [(one["name"], one["type"], one["jsonPath"], one.get("priority", 0)) for one in found]


def shown(value: Any) -> str:
    if value is None:
        return "–"
    text = "yes" if value is True else json.dumps(value)
    return f"`{text}`".replace("|", "\\|") if value is not True else text


def page(module: str) -> Iterator[str]:
    ours = {one["spec"]["names"]["kind"]: one for one in definitions() if one["spec"]["group"] == WORKLOAD.group}
    others = theirs(module)
    yield f"Compared with {module}: {', '.join(sorted(ours))}."
    yield f"Not defined by us: {', '.join(sorted(others.keys() - ours.keys()))}."
    for kind, our in sorted(ours.items()):
        found = list(differences(kind, our, others[kind]))
        rules = [sum(map(rules_of, places_of(one))) for one in (our, others[kind])]
        sizes = [len(json.dumps(one)) // 1024 for one in (our, others[kind])]
        yield ""
        yield f"### {kind}"
        yield ""
        yield f"Rules: {rules[0]} (Kueue: {rules[1]}). Size: {sizes[0]} KiB (Kueue, with v1beta1: {sizes[1]} KiB)."
        if found:
            yield ""
            yield "| field | what | ours | Kueue's |"
            yield "| --- | --- | --- | --- |"
        for one in found:
            path = f"`{one.path}`" if one.path else "the definition"
            yield f"| {path} | {one.fact} | {shown(one.ours)} | {shown(one.theirs)} |"


def places_of(crd: Raw) -> list[Raw]:
    return [part for _, part in places(served(crd)["schema"]["openAPIV3Schema"])]


def rules_of(part: Raw) -> int:
    return len(part.get("x-kubernetes-validations", ()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", default=MODULE)
    for line in page(parser.parse_args().module):
        print(line)


if __name__ == "__main__":
    main()
