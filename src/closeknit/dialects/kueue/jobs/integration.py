"""The descriptor of a kind that can be suspended: where its suspend flag, pod templates, counts and status are.

It is a value of pure functions over the raw tree; nothing is changed in place. What all kinds share is elsewhere:
`injection` changes and restores templates, `workload_object` builds the Workload, `equivalence` compares the two.

A TrainJob describes its pods only in part. The rest is in its runtime, which callers pass as `source` wherever pods
are counted; no other kind has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ....model.request import Ranks
from ...field import Field
from ..objects.wire import Unreadable
from .injection import Info, StartConflict
from .job_kind import JobKind
from .raw import Raw, at, condition, mapping, put
from .roles import NO_RANKS, Role
from .train_job import Source


@dataclass(frozen=True, slots=True)
class PodSetForm:
    """A pod set of a job: the template in the job itself, and the annotations that apply to it."""

    name: str
    count: int
    template: Raw
    ranks: Ranks = NO_RANKS
    least: int | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


class Finished(NamedTuple):
    success: bool
    message: str


class JobWrite(NamedTuple):
    """One write that stops a job: an update of the object or of a subresource, or its deletion."""

    body: Raw
    subresource: str = ""
    deletes: bool = False


Sets = tuple[PodSetForm, ...]
Templates = Mapping[str, Raw]
Counts = Mapping[str, int]


def is_suspended(raw: Raw) -> bool:
    return at(raw, "spec", "suspend") is True


def suspended(raw: Raw, yes: bool) -> Raw:
    return put(raw, ("spec", "suspend"), yes)


def ended(*conditions: str) -> Callable[[Raw], Finished | None]:
    """A function that returns whether a job has finished: one of two conditions holds, the first meaning success."""

    def finished(raw: Raw) -> Finished | None:
        end = condition(raw, *conditions)
        return None if end is None else Finished(end["type"] == conditions[0], end.get("message") or "")

    return finished


def _unchanged(raw: Raw, _templates: Templates, _counts: Counts) -> Raw:
    return raw


def _no_source(_raw: Raw) -> Source | None:
    return None


def _nothing(_raw: Raw) -> str:
    return ""


def _no_notes(_raw: Raw) -> Mapping[str, dict[str, str]]:
    return {}


def _none(_raw: Raw) -> dict[str, int]:
    return {}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Integration(JobKind):
    """A kind that is suspended while it waits.

    `sets_in` returns the pod sets if the roles are not enough. `with_templates` sets templates by pod set name, and
    counts if the kind supports partial admission. `ignored` is the reason why an object needs no Workload, `refusal`
    why it cannot have one, `on_hold` why it must not be admitted yet. `notes` are annotations, by pod set, for the
    pods of this job. `start`, `restore` and `stop` are for kinds that need more than templates, or several writes; see
    `starting`. `render` returns the object whose pods are counted, for a kind that has a source.
    """

    is_suspended: Callable[[Raw], bool] = is_suspended
    suspended: Callable[[Raw, bool], Raw] = suspended
    sets_in: Callable[[Raw], Sets] | None = None
    with_templates: Callable[[Raw, Templates, Counts], Raw] = _unchanged
    finished: Callable[[Raw], Finished | None]
    is_active: Callable[[Raw], bool]
    ready_in: Callable[[Raw], bool]
    reclaimable_in: Callable[[Raw], dict[str, int]] = _none
    source: Callable[[Raw], Source | None] = _no_source
    render: Callable[[Raw, Raw | None], Raw] | None = None
    ignored: Callable[[Raw], str] = _nothing
    refusal: Callable[[Raw], str] = _nothing
    notes: Callable[[Raw], Mapping[str, dict[str, str]]] = _no_notes
    on_hold: Callable[[Raw], str] = _nothing
    start: Callable[[Raw, Sets, Sequence[Info]], Raw | StartConflict] | None = None
    restore: Callable[[Raw], Raw] | None = None
    stop: Callable[[Raw, Callable[[Raw], Raw]], JobWrite | None] | None = None

    def pod_sets(self, raw: Raw, source: Raw | None = None) -> Sets:
        """The pod sets of its Workload; raises Unreadable if they cannot be determined."""
        body = raw if self.render is None else self.render(raw, source)
        return forms(body, self.roles) if self.sets_in is None else self.sets_in(body)

    def pods_ready(self, raw: Raw, source: Raw | None = None) -> bool:
        """Whether all of its pods are ready or have succeeded."""
        return self.ready_in(raw if self.render is None else self.render(raw, source))

    def reclaimable(self, raw: Raw, source: Raw | None = None) -> dict[str, int]:
        """How many pods of each pod set will certainly not run again; pod sets with none are left out."""
        return self.reclaimable_in(raw if self.render is None else self.render(raw, source))


def form(name: str, count: int, template: Raw, ranks: Ranks = NO_RANKS, least: int | None = None) -> PodSetForm:
    return PodSetForm(name, count, template, ranks, least, mapping(template, "metadata", "annotations"))


def forms(raw: Raw, roles: Callable[[Field], list[Role]]) -> Sets:
    """The pod sets of a job's roles; raises Unreadable if they are invalid."""
    body = Field.root(raw)
    found = roles(body)
    for mistake in body.report.mistakes:
        raise Unreadable(f"{mistake.field} {mistake.text}")
    return tuple(form(one.name, one.count, one.template.mapping(), one.ranks) for one in found)
