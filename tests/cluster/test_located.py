"""Mistakes with the position of their field."""

from __future__ import annotations

from pathlib import Path

from closeknit.cluster.files import documents
from closeknit.cluster.located import located
from closeknit.model.mistake import Mistake

TWO = """
apiVersion: v1
kind: Thing
metadata: {name: a}
---
apiVersion: v1
kind: Thing
metadata:
  name: b
spec:
  items:
  - size: 1
"""


def test_a_mistake_gets_the_position_of_its_field_or_of_what_is_around_it(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(TWO)
    objects = list(documents(str(file)))
    where = str(file)
    given = [
        Mistake("", where=where, what="Thing b", field="spec.items[0].size"),
        Mistake("", where=where, what="Thing b", field="spec.items[0].weight"),
        Mistake("", where=where, what="Made x of Thing b", field="spec.other"),
        Mistake("", where=where, what="Thing c", field="spec"),
        Mistake("", where="", what="Thing b"),
    ]
    found = [one.where.removeprefix(where) for one in located(given, objects)]
    assert found == [":12:5", ":12:5", ":6:1", "", ""]


def test_the_items_of_a_list_keep_the_name_of_the_file_alone(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    item = "- {apiVersion: v1, kind: A, metadata: {name: %s}}\n"
    file.write_text("apiVersion: v1\nkind: List\nitems:\n" + item % "x" + item % "y")
    objects = list(documents(str(file)))
    mistake = Mistake("", where=str(file), what="A x", field="spec")
    assert located([mistake], objects) == [mistake]
