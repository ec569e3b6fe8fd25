"""The plan of an installation: every object is sent to the server as a dry run, and compared with the existing one.

    missing                             ▶ created
    exists, with our label              ▶ changed, or unchanged
    exists, a definition of others      ▶ left as it is, and used
    exists, any other object of others  ▶ an error: it is not ours to change
    of a kind that is not served        ▶ skipped and reported; or sent in an older version that is served
    an obsolete policy of ours          ▶ deleted: the configuration has changed

Nothing is changed before the whole plan is known to be possible.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from ..cluster.errors import NotFound
from ..cluster.kinds import NAMESPACE, Kind
from ..cluster.kube.client import Client
from ..cluster.kube.discovery import served
from ..model.mistake import InputError, Mistake
from .bundle import InstallStage
from .kinds import CLUSTER_ROLE_BINDING, CRD, OLDER, POLICIES, as_served, in_served_version, kind_of
from .marks import MANAGER, SELECTOR, Raw, is_ours, label, version_of
from .versions import rank

Word = Literal["created", "changed", "unchanged", "left as it is", "skipped", "deleted"]
IN_FLIGHT = 8
T = TypeVar("T")
_BY_SERVER = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink")


class PlanStep(NamedTuple):
    """One object: as sent, as it is now, and as it would be (None if no dry run was possible)."""

    stage: str
    sent: Raw
    word: Word
    before: Raw | None = None
    after: Raw | None = None

    @property
    def is_sent(self) -> bool:
        return self.word in ("created", "changed", "unchanged")


async def plan(client: Client, stages: Iterable[InstallStage], force: bool = False) -> list[PlanStep]:
    """The steps of an installation.

    Raises InputError for an object that is not ours or of a newer version, and Conflict for fields of other managers.
    Versions are compared before any dry run, so that a command that is too old gets that error, not one about fields.
    """
    named = [(stage.name, one) for stage in stages for one in stage.objects]
    wanted = {*OLDER.values(), *(kind_of(one) for _, one in named)}
    known = await served(client, wanted)
    can = {kind for kind in wanted if known.can(kind, "patch") and as_served(known, kind) is kind}
    todo = [(stage, in_served_version(known, one)) for stage, one in named]
    found = await _each(todo, lambda one: _compared(client, can, *one))
    mistakes = [*_foreign(found), *_elsewhere(found), *_newer(found)]
    if mistakes:
        raise InputError(mistakes)
    has_home = any(one.before is not None for one in found if kind_of(one.sent) is NAMESPACE)
    tried = await _each(found, lambda step: _tried(client, step, has_home, force))
    policies = [as_served(known, kind) for kind in POLICIES]
    return [*tried, *[one async for one in _unwanted(client, [kind for kind in policies if kind in can], todo)]]


async def _each(todo: Sequence[T], work: Callable[[T], Coroutine[Any, Any, PlanStep]]) -> list[PlanStep]:
    found: list[PlanStep] = []
    for start in range(0, len(todo), IN_FLIGHT):
        found += await asyncio.gather(*map(work, todo[start : start + IN_FLIGHT]))
    return found


async def _compared(client: Client, can: set[Kind], stage: str, sent: Raw) -> PlanStep:
    kind = kind_of(sent)
    if kind not in can:
        return PlanStep(stage, sent, "skipped")
    before = await there(client, sent)
    if before is None:
        return PlanStep(stage, sent, "created")
    return PlanStep(stage, sent, "left as it is" if kind is CRD and not is_ours(before) else "changed", before)


async def _tried(client: Client, step: PlanStep, has_home: bool, force: bool) -> PlanStep:
    """The step after a dry run; in a namespace that does not exist yet none is possible."""
    if not step.is_sent or (kind_of(step.sent).namespaced and not has_home):
        return step
    after = await applied(client, step.sent, force, dryRun="All")
    if step.before is not None and plain(step.before) == plain(after):
        return step._replace(word="unchanged", after=after)
    return step._replace(after=after)


async def _unwanted(client: Client, kinds: Iterable[Kind], todo: Sequence[tuple[str, Raw]]) -> AsyncIterator[PlanStep]:
    """Policies of an earlier configuration, which would go on holding jobs."""
    wanted = {label(one) for _, one in todo}
    for kind in kinds:
        for one in await client.list(kind, labelSelector=SELECTOR):
            if label(one) not in wanted:
                yield PlanStep("policies", one, "deleted", one)


def _may_use(kind: Kind, before: Raw) -> bool:
    """Whether an existing object may be used: it has our label, or is a namespace, which a user may have created."""
    return is_ours(before) or kind is NAMESPACE


async def there(client: Client, raw: Raw) -> Raw | None:
    meta = raw["metadata"]
    try:
        return await client.get(kind_of(raw), meta.get("namespace", ""), meta["name"])
    except NotFound:
        return None


async def applied(client: Client, raw: Raw, force: bool, **query: str) -> Raw:
    meta = raw["metadata"]
    wishes = {"fieldManager": MANAGER, "force": "true" if force else "false", "fieldValidation": "Strict", **query}
    return await client.patch(kind_of(raw), meta.get("namespace", ""), meta["name"], raw, "apply", **wishes)


def plain(raw: Raw) -> Raw:
    """The object for comparison: without fields that only a server writes."""
    meta = {key: value for key, value in raw["metadata"].items() if key not in _BY_SERVER}
    return {**{key: value for key, value in raw.items() if key != "status"}, "metadata": meta}


def _foreign(steps: Sequence[PlanStep]) -> Iterator[Mistake]:
    for one in steps:
        kind = kind_of(one.sent)
        if one.word == "changed" and one.before is not None and not _may_use(kind, one.before):
            text = "already exists and is not part of closeknit: it has no label app.kubernetes.io/part-of: closeknit"
            yield Mistake(text, "rename or delete it, or add the label if it is", what=label(one.sent))


def _elsewhere(steps: Sequence[PlanStep]) -> Iterator[Mistake]:
    """An installation in another namespace: a cluster has one control plane, and one role of its name."""
    for one in steps:
        if one.before is None or kind_of(one.sent) is not CLUSTER_ROLE_BINDING:
            continue
        [wanted], there = (
            [who.get("namespace") for who in raw.get("subjects") or ()] for raw in (one.sent, one.before)
        )
        for home in there:
            if home != wanted:
                remedy = f"install with --namespace {home}, or uninstall that one first"
                yield Mistake(f"closeknit is installed in the namespace {home}, not {wanted}", remedy)


def _newer(steps: Sequence[PlanStep]) -> Iterator[Mistake]:
    """The newest object of a newer version; one is enough to report."""
    newer = {version_of(one.before): one for one in steps if one.before is not None and one.is_sent}
    for version in sorted(newer, key=rank)[-1:]:
        ours = version_of(newer[version].sent)
        if rank(version) > rank(ours):
            text = f"is of closeknit {version}, and this is {ours}: an older version is not installed over a newer one"
            yield Mistake(text, f"use closeknit {version} or newer", what=label(newer[version].sent))


def summary(steps: Iterable[PlanStep]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for one in steps:
        found[one.word] = found.get(one.word, 0) + 1
    return found
