"""Groups of pods in manifests, written in the dialect of another scheduler: `closeknit convert --to`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from ..cluster.located import located
from ..cluster.mistakes import Mistakes
from ..dialects.field import Field
from ..dialects.gangs import KINDS_BY_DIALECT, SAME, WRITERS, node_labels, read_gangs
from ..dialects.group_pods import key_of
from ..dialects.pod_marks import described, named_group, remarked
from ..dialects.volcano.keys import BATCH_GROUP
from ..dialects.written_gang import PodMarks, WrittenGang
from ..model.gang import Dialect
from ..model.mistake import Mistake, refuse

Raw = dict[str, Any]
Objects = Sequence[tuple[str, Raw]]
TARGETS = tuple(WRITERS)


def converted_groups(objects: Objects, target: str) -> Iterator[Raw]:
    """All objects, with their groups written for the target; prints what the target cannot say."""
    found = read_gangs(objects, node_labels(objects) or None)
    _check(found.mistakes, objects)
    if not found.gangs:
        remedy = "give PodGroups, CompositePodGroups, PodGangs, Volcano's Jobs, or jobs and pods that KAI schedules"
        raise refuse("there is no group of pods in these files", remedy, what="--to")
    moved = [gang for gang in found.gangs if SAME.get(gang.dialect, gang.dialect) != target]
    for gang in found.gangs:
        if SAME.get(gang.dialect, gang.dialect) == target:
            click.echo(f"note: {gang.key} is for {target} already", err=True)
    replaced = {kind for gang in moved for kind in KINDS_BY_DIALECT[gang.dialect]}
    others = [raw for _, raw in objects if _kind(raw) not in replaced]
    written = [WRITERS[target](gang, found.topologies) for gang in moved]
    yield from _new(written, others)
    marks = {key: one_marks for one in written for key, one_marks in one.marks.items()}
    yield from (_with_marks(raw, marks) for raw in others)
    _tell(written, {_pod_key(raw) for raw in others}, [raw for _, raw in objects])


def _tell(written: Sequence[WrittenGang], pods: set[str], objects: Sequence[Raw]) -> None:
    """Print what is lost, and what is left to do."""
    for one in written:
        for loss in one.losses:
            click.echo(f"lost: {loss}", err=True)
        for note in (*one.notes, *_running(one), *_absent(one, pods)):
            click.echo(f"note: {note}", err=True)
    moved = {one.gang.key: one.gang.dialect for one in written}
    for left in (left for raw in objects if (left := _left(raw, moved))):
        click.echo(f"note: {left}", err=True)


def _left(raw: Raw, moved: dict[str, Dialect]) -> str:
    """What to do about an object that creates pods of a group; empty if it does not."""
    one, template = Field.root(raw), Field.root(raw).at("spec", "template")
    key, kind = key_of(one), raw["kind"]
    if _kind(raw) == (BATCH_GROUP, "Job") and moved.get(key) == "volcano":
        return f"{kind} {key} is left out: only Volcano creates its pods"
    if template.given and f"{key.partition('/')[0]}/{(group := named_group(template))}" in moved:
        return f"{kind} {key}: its pod template still names the group {group}; give it the marks of the new one"
    return ""


def _new(written: Sequence[WrittenGang], others: Sequence[Raw]) -> Iterator[Raw]:
    """The objects of all groups, each once; one that would replace another object is refused."""
    there = {_identity(raw): raw for raw in others}
    for one in written:
        for raw in one.objects:
            known = there.setdefault(_identity(raw), raw)
            if known is raw:
                yield raw
            elif known.get("spec") != raw["spec"]:
                _, kind, name = _identity(raw)
                text = f"would be written as {kind} {name}, which is another object already"
                raise refuse(text, "rename one of the two", what=f"gang {one.gang.key}")


def _identity(raw: Raw) -> tuple[str, str, str]:
    group, kind = _kind(raw)
    return group, kind, key_of(Field.root(raw))


def _check(wrong: Sequence[Mistake], objects: Objects) -> None:
    mistakes = Mistakes()
    for mistake in located(wrong, objects):
        mistakes.add(mistake)
    mistakes.check()


def _kind(raw: Raw) -> tuple[str, str]:
    return str(raw["apiVersion"]).rpartition("/")[0], str(raw["kind"])


def _pod_key(raw: Raw) -> str:
    """namespace/name of a pod; empty for other objects."""
    return key_of(Field.root(raw)) if (raw["apiVersion"], raw["kind"]) == ("v1", "Pod") else ""


def _with_marks(raw: Raw, marks: dict[str, PodMarks]) -> Raw:
    own = marks.get(_pod_key(raw))
    return raw if own is None else remarked(raw, own)


def _running(written: WrittenGang) -> Iterator[Mistake]:
    count = sum(len(one.running) for one in written.gang.request.pod_sets)
    if count:
        text = (
            f"{count} {'runs' if count == 1 else 'run'} already and {'keeps' if count == 1 else 'keep'} the old marks"
        )
        yield Mistake(text, what=f"gang {written.gang.key}", field="pods")


def _absent(written: WrittenGang, pods: set[str]) -> Iterator[Mistake]:
    """The pods that are not among the files, by the marks that they need."""
    absent: dict[str, int] = {}
    for key, marks in written.marks.items():
        if key not in pods:
            needs = ", ".join(described(marks))
            absent[needs] = absent.get(needs, 0) + 1
    for needs, count in absent.items():
        text = (
            f"1 is not in the files; it needs {needs}"
            if count == 1
            else f"{count} are not in the files; they need {needs}"
        )
        yield Mistake(text, what=f"gang {written.gang.key}", field="pods")
