"""Groups of pods in manifests, written in the dialect of another scheduler: `closeknit convert --to`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from ..cluster.located import located
from ..cluster.mistakes import Mistakes
from ..dialects.field import Field
from ..dialects.gangs import KINDS, SAME, WRITERS, node_labels, read_gangs
from ..dialects.group_pods import key_of
from ..dialects.pod_marks import described, remarked
from ..dialects.written_gang import PodMarks, WrittenGang
from ..model.mistake import Mistake, refuse

Raw = dict[str, Any]
Objects = Sequence[tuple[str, Raw]]
TARGETS = tuple(WRITERS)


def converted_groups(objects: Objects, target: str) -> Iterator[Raw]:
    """All objects, with their groups written for the target; prints what the target cannot say."""
    found = read_gangs(objects, node_labels(objects) or None)
    _check(found.mistakes, objects)
    if not found.gangs:
        kinds = ", ".join(sorted({kind for _, kind in KINDS}))
        raise refuse("there is no group of pods in these files", f"give objects such as {kinds}", what="--to")
    moved = [gang for gang in found.gangs if SAME.get(gang.dialect, gang.dialect) != target]
    for gang in found.gangs:
        if gang not in moved:
            click.echo(f"note: {gang.key} is for {target} already", err=True)
    if not moved:
        yield from (raw for _, raw in objects)
        return
    written = [WRITERS[target](gang, found.topologies) for gang in moved]
    for one in written:
        yield from one.objects
    marks = {key: one_marks for one in written for key, one_marks in one.marks.items()}
    others = [raw for _, raw in objects if not _is_replaced(raw)]
    yield from (_with_marks(raw, marks) for raw in others)
    pods = {_pod_key(raw) for raw in others}
    for one in written:
        for loss in one.losses:
            click.echo(f"lost: {loss}", err=True)
        for note in (*one.notes, *_absent(one, pods)):
            click.echo(f"note: {note}", err=True)


def _check(wrong: Sequence[Mistake], objects: Objects) -> None:
    mistakes = Mistakes()
    for mistake in located(wrong, objects):
        mistakes.add(mistake)
    mistakes.check()


def _is_replaced(raw: Raw) -> bool:
    return (str(raw["apiVersion"]).rpartition("/")[0], raw["kind"]) in KINDS


def _pod_key(raw: Raw) -> str:
    """namespace/name of a pod; empty for other objects."""
    return key_of(Field.root(raw)) if (raw["apiVersion"], raw["kind"]) == ("v1", "Pod") else ""


def _with_marks(raw: Raw, marks: dict[str, PodMarks]) -> Raw:
    own = marks.get(_pod_key(raw))
    return raw if own is None else remarked(raw, own)


def _absent(written: WrittenGang, pods: set[str]) -> Iterator[Mistake]:
    """The pods that are not among the files, by the marks that they need."""
    absent: dict[str, int] = {}
    for key, marks in written.marks.items():
        if key not in pods:
            needs = ", ".join(described(marks))
            absent[needs] = absent.get(needs, 0) + 1
    for needs, count in absent.items():
        text = f"{count} {'is' if count == 1 else 'are'} not in the files; they need {needs}"
        yield Mistake(text, what=f"gang {written.gang.key}", field="pods")
