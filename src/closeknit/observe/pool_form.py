"""The compact form of a cluster: pools of equal nodes in five lines.

    blocks: 10
    racksPerBlock: 20
    nodesPerRack: 50
    node: {cpu: 96, memory: 1Ti, nvidia.com/gpu: 8}
    used: 30%

Everything is checked here and every mistake is reported; `pools` builds the columns.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..cluster.mistakes import Mistakes
from ..dialects.field import Field, Report
from ..dialects.simulated_zones import read_zones
from ..model.label_names import is_label_value, is_qualified_name
from ..model.mistake import Mistake
from ..model.nearest import did_you_mean
from ..model.resources import PODS, amount
from ..model.shape import Taint
from ..model.topology import HOSTNAME
from ..numa.simulated import SimulatedZones
from .quantities import bad_quantity

BLOCK = "cloud.provider.com/topology-block"
RACK = "cloud.provider.com/topology-rack"
POOL = "closeknit.dev/pool"
MADE = (BLOCK, RACK, HOSTNAME, POOL)

KEYS = ("name", "blocks", "racksPerBlock", "racks", "nodesPerRack", "node", "used", "seed")
OF_NODES = ("labels", "taints", "numa")
"""Keys of `node` that are no resources."""
DEFAULT_PODS = 110
MAX_NODES = 1_000_000
MAX_POOL_NAME = 30

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%", re.ASCII)
_TAINT = re.compile(r"([^=:]+)(?:=([^=:]*))?:([A-Za-z]+)")
_PLAIN = ("cpu", "memory", "pods", "ephemeral-storage")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Pool:
    """`blocks` of `racks` of equal `nodes`; `used` is the fraction of it in use, from 0 to 1."""

    name: str
    blocks: int
    racks: int
    nodes: int
    allocatable: Mapping[str, int]
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    used: float = 0.0
    seed: int = 0
    numa: SimulatedZones | None = None
    note: str = ""
    """The zones of each node as an annotation has them."""

    @property
    def size(self) -> int:
        return self.blocks * self.racks * self.nodes


def is_pool(raw: Any) -> bool:
    """Whether this is meant to be a pool: a mapping with one of a pool's distinctive keys, or a misspelt one."""
    return isinstance(raw, dict) and any(
        difflib.get_close_matches(str(key), ("blocks", "racksPerBlock", "racks", "nodesPerRack", "node"), cutoff=0.8)
        for key in raw
    )


def read_pool(raw: Mapping[str, Any], where: str, mistakes: Mistakes) -> Pool | None:
    """The pool; None if it is invalid, with the reason among the mistakes."""
    return _Form(raw, where, mistakes).pool()


class _Form:
    """One pool as written, and its file for error messages."""

    def __init__(self, raw: Mapping[str, Any], where: str, mistakes: Mistakes) -> None:
        self.raw = raw
        self.where = where
        self.mistakes = mistakes
        self.what = f"pool {raw['name']}" if raw.get("name") else "pool"

    def wrong(self, field: str, text: str, remedy: str) -> None:
        self.mistakes.add(Mistake(text, remedy, self.where, self.what, field))

    def pool(self) -> Pool | None:
        before = len(self.mistakes)
        self.check_keys()
        name = self.name()
        blocks, racks, nodes = self.sizes()
        node = self.raw.get("node")
        if not isinstance(node, dict) or not node:
            self.wrong("node", "says nothing about the nodes", "write node: {cpu: 96, memory: 1Ti, nvidia.com/gpu: 8}")
            node = {}
        pool = Pool(
            name,
            blocks,
            racks,
            nodes,
            self.allocatable(node),
            self.labels(node.get("labels")),
            self.taints(node.get("taints")),
            self.used(),
            self.seed(),
        )
        if node.get("numa") is not None:
            pool = replace(pool, numa=self.numa(node["numa"], pool.allocatable), note=json.dumps(node["numa"]))
        return pool if len(self.mistakes) == before else None

    def check_keys(self) -> None:
        for key in self.raw:
            if key not in KEYS:
                remedy = f"{did_you_mean(key, KEYS)}the keys are {', '.join(KEYS)}"
                self.wrong(key, "is not a key of a pool", remedy)

    def name(self) -> str:
        name = self.raw.get("name")
        if name is None:
            return ""
        if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_POOL_NAME:
            text = f"{_quoted(name)} cannot begin the names of nodes"
            self.wrong("name", text, f"use at most {MAX_POOL_NAME} small letters, digits and dashes")
        return str(name)

    def sizes(self) -> tuple[int, int, int]:
        if "racks" in self.raw:
            for key in ("blocks", "racksPerBlock"):
                if key in self.raw:
                    self.wrong(
                        "racks", f"does not go with {key}", f"write racks, or blocks and racksPerBlock: drop {key}"
                    )
            blocks, racks = 1, self.count("racks")
        else:
            blocks, racks = self.count("blocks"), self.count("racksPerBlock")
        return blocks, racks, self.count("nodesPerRack")

    def count(self, key: str) -> int:
        value = self.raw.get(key)
        if value is None:
            self.wrong(key, "is missing", f"write how many, such as {key}: 4")
        elif not isinstance(value, int) or isinstance(value, bool):
            self.wrong(key, f"{_quoted(value)} is not a whole number", f"write how many, such as {key}: 4")
        elif value < 1:
            self.wrong(key, f"is {value}", "write one or more")
        elif value > MAX_NODES:
            self.wrong(key, f"{value} is too large", f"write at most {MAX_NODES:,} nodes in all")
        else:
            return value
        return 1

    def allocatable(self, node: Mapping[str, Any]) -> dict[str, int]:
        result = {PODS: DEFAULT_PODS}
        for resource, quantity in node.items():
            if resource in OF_NODES:
                continue
            problem = self.bad_resource(resource, quantity)
            if problem is None:
                result[resource] = amount(resource, quantity)
            else:
                self.wrong(f"node[{resource}]", *problem)
        return result

    def bad_resource(self, resource: str, quantity: Any) -> tuple[str, str] | None:
        if isinstance(quantity, str | int | float) and not isinstance(quantity, bool):
            near = "" if "/" in resource or resource in _PLAIN else did_you_mean(resource, _PLAIN)
            if near:
                return "is not a resource that Kubernetes knows", near.strip()
            if not is_qualified_name(resource):
                return "is not the name of a resource", "write cpu, memory or a name such as nvidia.com/gpu"
            return bad_quantity(resource, quantity)
        near = did_you_mean(resource, OF_NODES).strip()
        return f"{_quoted(quantity)} is not a quantity", near or "write a number with an optional suffix, as 8 or 1.5Gi"

    def numa(self, raw: Any, allocatable: Mapping[str, int]) -> SimulatedZones | None:
        field = Field(raw, "node.numa", Report(self.where, self.what))
        zones = read_zones(field, allocatable)
        for mistake in field.report.mistakes:
            self.mistakes.add(mistake)
        return zones

    def labels(self, raw: Any) -> dict[str, str]:
        if raw is None:
            return {}
        if not isinstance(raw, dict):
            self.wrong("node.labels", f"{_quoted(raw)} is not a mapping", "write labels: {key: value}")
            return {}
        for key, value in raw.items():
            field = f"node.labels[{key}]"
            if key in MADE:
                self.wrong(field, "is made for every node", "leave it out")
            elif not is_qualified_name(key):
                self.wrong(field, "is not a label key", "use letters, digits and -_. with an optional DNS prefix and /")
            elif not isinstance(value, str):
                self.wrong(field, f"must be text, but is read as {_quoted(value)}", "quote it")
            elif not is_label_value(value):
                self.wrong(field, f"{_quoted(value)} is not a label value", "use at most 63 letters, digits and -_.")
        return {str(key): str(value) for key, value in raw.items()}

    def taints(self, raw: Any) -> tuple[Taint, ...]:
        if raw is None:
            return ()
        if not isinstance(raw, list):
            self.wrong("node.taints", f"{_quoted(raw)} is not a list", "write taints: [key=value:NoSchedule]")
            return ()
        return tuple(self.taint(f"node.taints[{index}]", one) for index, one in enumerate(raw))

    def taint(self, field: str, raw: Any) -> Taint:
        match = _TAINT.fullmatch(raw) if isinstance(raw, str) else None
        if match is not None:
            raw = {"key": match.group(1), "value": match.group(2) or "", "effect": match.group(3)}
        if not isinstance(raw, dict) or not all(isinstance(value, str) for value in raw.values()):
            self.wrong(
                field,
                f"{_quoted(raw)} is not a taint",
                "write key=value:NoSchedule, or {key, value, effect} as text",
            )
            return Taint("", "", "")
        taint = Taint(raw.get("key", ""), raw.get("value", ""), raw.get("effect", ""))
        if not is_qualified_name(taint.key):
            self.wrong(f"{field}.key", f"{_quoted(taint.key)} is not a taint key", "write a key such as nvidia.com/gpu")
        if taint.effect not in _EFFECTS:
            self.wrong(f"{field}.effect", f"{_quoted(taint.effect)} is no effect", f"use one of {', '.join(_EFFECTS)}")
        return taint

    def used(self) -> float:
        raw = self.raw.get("used")
        if raw is None or (raw == 0 and not isinstance(raw, bool)):
            return 0.0
        match = _PERCENT.fullmatch(raw) if isinstance(raw, str) else None
        if match is None or float(match.group(1)) > 100:
            self.wrong("used", f"{_quoted(raw)} is not a part of the cluster", "write a percentage, such as used: 30%")
            return 0.0
        return float(match.group(1)) / 100

    def seed(self) -> int:
        raw = self.raw.get("seed", 0)
        if not isinstance(raw, int) or isinstance(raw, bool) or raw < 0:
            self.wrong("seed", f"{_quoted(raw)} is not a seed", "write a whole number, zero or more")
            return 0
        return raw


def _quoted(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f'"{text}"' if isinstance(value, str) else text
