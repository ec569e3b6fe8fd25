"""The published files of KAI and Volcano, as they are and with anything anywhere: read or refused, never a crash."""

from __future__ import annotations

import random
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.dialects.gangs import WRITERS, read_gangs
from closeknit.dialects.kai.grouper import group_objects
from closeknit.model.mistake import Mistake

MANIFESTS = Path(__file__).parents[3] / "shared/manifests"
FILES = sorted(MANIFESTS.glob("kai/*.yaml")) + sorted(MANIFESTS.glob("volcano/*.yaml"))
CHANGES = 40
"""How often each file is changed."""
DEEP: Any = []
for _ in range(60):
    DEEP = [{"a": DEEP}]
JUNK: list[Any] = [
    *(None, True, 0, -1, 3, 2**31, 2**70, 1.5, float("nan"), "", "a", "0", "-1", "true", "x" * 400, "\u202e", "(" * 50),
    *([], [None], [[]], {}, {"": None}, {"name": 1}, {1: 2}, [{}], DEEP),
]
NODES: dict[str, dict[str, str]] = {"n1": {"topology/rack": "r"}, "n2": {}}

pytestmark = pytest.mark.skipif(not FILES, reason=f"SKIPPED, LOUDLY: no published files at {MANIFESTS}")


def documents(file: Path) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(file.read_text()) if one]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every mapping and list in a tree with each of its keys; kinds and versions of objects are kept."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    own = [(value, key) for key in keys if key not in ("apiVersion", "kind")]
    return own + [pair for key in keys for pair in places(value[key])]


def use(objects: list[dict[str, Any]], nodes: dict[str, dict[str, str]] | None) -> list[Mistake]:
    """Everything that commands do with these objects; the mistakes in them."""
    given = [("f", one) for one in objects]
    grouped = [group_objects(given, like_kai) for like_kai in (False, True)]
    found = read_gangs(given, nodes)
    for gang in found.gangs:
        for write in WRITERS.values():
            write(gang, found.topologies)
    return [*found.mistakes, *found.warnings, *(one for each in grouped for one in (*each.mistakes, *each.warnings))]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_published_file_is_right_by_itself(file: Path) -> None:
    assert [str(one) for one in use(documents(file), None) if "is not among the objects" not in one.text] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_published_file_with_anything_anywhere_is_read_or_refused_with_a_place(file: Path) -> None:
    draw = random.Random(file.stem)
    for _ in range(CHANGES):
        objects = deepcopy(documents(file))
        for _ in range(draw.randint(1, 3)):
            inside, key = draw.choice(
                places(objects[0] if len(objects) == 1 else objects[draw.randrange(len(objects))])
            )
            if isinstance(inside, dict) and draw.random() < 0.3:
                inside.pop(key)
                inside[f"{key}s"] = draw.choice(JUNK)
            else:
                inside[key] = deepcopy(draw.choice(JUNK))
        found = use(objects, draw.choice([None, NODES]))
        assert all(one.what and one.text for one in found)
        assert all(len(str(one)) < 2000 for one in found)
