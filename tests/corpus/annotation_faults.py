"""For each rule about topology annotations one that breaks it, in every kind whose templates are validated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from closeknit.cluster.kinds import POD
from corpus.job_case import HOST, LAYERS, RACK, JobCase
from corpus.job_objects import RULED, Raw
from corpus.wrong_jobs import layer, wrong

REQUIRED, PREFERRED, ANYWHERE = (f"podset-{one}-topology" for one in ("required", "preferred", "unconstrained"))
SLICE, SIZE, GROUP = "podset-slice-required-topology", "podset-slice-size", "podset-group-name"
LAYERED = LAYERS.replace("_", "-")


class Fault(NamedTuple):
    """`key` is the annotation that is wrong, `part` what of it."""

    title: str
    key: str
    notes: Raw
    part: str = ""


def slices(level: str = RACK, size: str = "2") -> Raw:
    return {"podset_slice_required_topology": level, "podset_slice_size": size}


def layers(*entries: str) -> Raw:
    return {LAYERS: f"[{', '.join(entries)}]"}


def group(name: str = "g", **more: str) -> Raw:
    return {"podset_group_name": name, **more}


ANY: Raw = {"podset_unconstrained_topology": "true"}
WITHIN: Raw = {"podset_required_topology": RACK}
ALWAYS = (
    Fault("within a rack and anywhere", ANYWHERE, {**WITHIN, "podset_unconstrained_topology": "true"}),
    Fault(
        "within two racks", "require-topology", {"podset_required_topology": RACK, "require_topology": "example.com/x"}
    ),
    Fault("near two racks", "prefer-topology", {"podset_preferred_topology": RACK, "prefer_topology": HOST}),
    Fault("within a rack of old, and anywhere", ANYWHERE, {"require_topology": RACK, **ANY}),
    Fault("within what is no level", REQUIRED, {"podset_required_topology": "a b"}),
    Fault("near what is no level", PREFERRED, {"podset_preferred_topology": ""}),
    Fault("anywhere, perhaps", ANYWHERE, {"podset_unconstrained_topology": "maybe"}),
    Fault("in slices of a bad level", SLICE, slices("a b")),
    Fault("in slices of any level", SLICE, slices("auto")),
    Fault("in slices of none", SIZE, slices(size="0")),
    Fault("in slices of no level", SIZE, {"podset_slice_size": "2"}),
    Fault("in slices of no size", SLICE, {"podset_slice_required_topology": RACK}),
    Fault("in group 7", GROUP, group("7", **WITHIN)),
    Fault("in a group with slices", GROUP, group(**WITHIN, **slices(HOST))),
    Fault("in a group without a level", GROUP, group()),
    Fault("in a group of a long name", GROUP, group("g" * 257, **WITHIN)),
    Fault("in layers and slices", LAYERED, {**slices(), **layers(layer(RACK, 4))}),
    Fault("in layers that are no JSON", LAYERED, {LAYERS: "4"}),
    Fault("in layers that do not divide", LAYERED, layers(layer(RACK, 4), layer(HOST, 3)), "[1].size"),
    Fault("in layers beyond 32 bits", LAYERED, layers(layer(RACK, 3_000_000_000))),
    Fault("in layers of the same level", LAYERED, layers(layer(RACK, 4), layer(RACK, 2)), "[1].topology"),
)
COUNTED = (
    Fault("in slices of 40", SIZE, slices(size="40")),
    Fault("in uneven slices", SIZE, slices(size="3")),
    Fault("in layers too large", LAYERED, layers(layer(RACK, 8))),
    Fault("in uneven layers", LAYERED, layers(layer(RACK, 3))),
)
"""Of kinds that tell how many pods there will be."""


def cases() -> Iterator[JobCase]:
    for kind in (*RULED, POD):
        for fault in ALWAYS if kind is POD else (*ALWAYS, *COUNTED):
            case = wrong(kind, fault.title, fault.key, **fault.notes)
            yield replace(case, field=case.field + fault.part)
