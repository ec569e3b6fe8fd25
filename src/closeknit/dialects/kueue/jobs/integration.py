"""The descriptor of a kind that can be suspended: where suspend, pod templates, counts and status lie in it.

It is a value of pure functions over the raw tree; nothing is changed in place. What is the same for all
kinds is not here: merging into templates and taking it out again is `injection`, making the Workload is
`workload_object`, telling whether both still agree is `equivalence`.

A TrainJob says only in part what it runs. The rest is in its runtime, which is handed in as `source` wherever pods
are counted; no other kind has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ....model.request import Ranks
from ...field import Field
from ..objects.wire import Unreadable
from .injection import Conflict, Info
from .job_kind import JobKind
from .raw import Raw, at, condition, mapping, put
from .roles import NO_RANKS, Role
from .train_job import Source


@dataclass(frozen=True, slots=True)
class PodSetForm:
    """A pod set as the job has it: the very template that lies in the job, and the annotations that speak for it."""

    name: str
    count: int
    template: Raw
    ranks: Ranks = NO_RANKS
    least: int | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


class Finished(NamedTuple):
    success: bool
    message: str


class Step(NamedTuple):
    """One write on the way to a job that stands still: the object as it is to be, one part of it, or its end."""

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
    """Over when one of two conditions holds: the first stands for success."""

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

    `sets_in` gives the pod sets where they are more than the roles. `with_templates` puts templates back by the name of
    their pod set, and counts where the kind may start with fewer pods. `ignored` says that an object needs no Workload
    and why, `refusal` why it can have none as it is, `on_hold` why it shall not be admitted for now. `notes` are
    annotations, by pod set, for the pods of this very job. `start`, `restore` and `stop` are for kinds that cannot do
    it by templates, or in one write; see `starting`. `render` gives what pods are counted in, for a kind that has a
    source.
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
    start: Callable[[Raw, Sets, Sequence[Info]], Raw | Conflict] | None = None
    restore: Callable[[Raw], Raw] | None = None
    stop: Callable[[Raw, Callable[[Raw], Raw]], Step | None] | None = None

    def pod_sets(self, raw: Raw, source: Raw | None = None) -> Sets:
        """What its Workload asks for; raises Unreadable if that cannot be told."""
        body = raw if self.render is None else self.render(raw, source)
        return forms(body, self.roles) if self.sets_in is None else self.sets_in(body)

    def pods_ready(self, raw: Raw, source: Raw | None = None) -> bool:
        """Whether all of its pods are ready, or have been and succeeded."""
        return self.ready_in(raw if self.render is None else self.render(raw, source))

    def reclaimable(self, raw: Raw, source: Raw | None = None) -> dict[str, int]:
        """How many pods of each pod set will not run any more, for sure; pod sets with none are left out."""
        return self.reclaimable_in(raw if self.render is None else self.render(raw, source))


def form(name: str, count: int, template: Raw, ranks: Ranks = NO_RANKS, least: int | None = None) -> PodSetForm:
    return PodSetForm(name, count, template, ranks, least, mapping(template, "metadata", "annotations"))


def forms(raw: Raw, roles: Callable[[Field], list[Role]]) -> Sets:
    """Pod sets from the roles that a kind of job has; raises Unreadable if something about them is wrong."""
    body = Field.root(raw)
    found = roles(body)
    for mistake in body.report.mistakes:
        raise Unreadable(f"{mistake.field} {mistake.text}")
    return tuple(form(one.name, one.count, one.template.mapping(), one.ranks) for one in found)
