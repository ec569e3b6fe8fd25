"""Positions of fields in a text."""

from __future__ import annotations

from closeknit.cluster.positions import place_of, positions

TEXT = """\
kind: A
spec:
  levels:
  - nodeLabel: rack
  - {nodeLabel: host, size: 2}
  labels: {"a.b/c": x}
---
kind: B
"""


def test_every_field_of_every_document_has_its_place() -> None:
    first, second = positions(TEXT)
    assert first["kind"] == (1, 1)
    assert first["spec.levels[0].nodeLabel"] == (4, 5)
    assert first["spec.levels[1].size"] == (5, 23)
    assert first["spec.labels[a.b/c]"] == (6, 12)
    assert second == {"": (8, 1), "kind": (8, 1)}


def test_a_missing_field_has_the_position_of_its_nearest_ancestor() -> None:
    known = positions(TEXT)[0]
    assert place_of(known, "spec.levels[1].nowhere") == (5, 5)
    assert place_of(known, "spec.other") == (2, 1)
    assert place_of(known, "nowhere") == (1, 1)
    assert place_of({}, "kind") is None


def test_a_text_inside_of_a_text_is_counted_from_the_outside() -> None:
    text = 'kind: ConfigMap\ndata:\n  other: x\n  file.yaml: |\n    kind: A\n    spec:\n      "size": 2\n'
    (known,) = positions(text, "file.yaml")
    assert known["kind"] == (5, 5)
    assert known["spec.size"] == (7, 7)


def test_json_has_positions_too_and_malformed_yaml_has_none() -> None:
    assert positions('{"kind": "A",\n "spec": {"x": 1}}')[0]["spec.x"] == (2, 11)
    assert positions("a: [") == []
