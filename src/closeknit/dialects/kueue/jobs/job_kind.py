"""The descriptor of a kind of job: all that the rest of the code has to know of it, as one value.

Its address, its name in Kueue's configuration, its pod sets, the fields that people write, the columns that they see
and how admission policies hold it. Rooms above read the table of descriptors (`kinds`), so a kind is added by writing
one. How a kind waits, starts and is restored is in the two sorts of descriptors that the control plane runs:
`integration.Integration` and `kinds.serving.Serving`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ...cel import Check
from ...field import Field
from ...served import Kind
from .roles import Role, Rules

ALL_RULES = Rules.COUNT | Rules.GROUPS


class Column(NamedTuple):
    """A column of `kubectl get`. `path` leads to the value.

    `condition`: the value is the status of the condition of this type, or, if that is `*`, the type of the last one.
    """

    name: str
    path: str
    type: Literal["string", "integer", "date"] = "string"
    is_wide: bool = False
    condition: str = ""


AGE = Column("Age", "metadata.creationTimestamp", "date")
STATE = Column("State", "status.conditions", condition="*")


class Offset(NamedTuple):
    """Workers count from 1 where their leader is rank 0: it is given, and `works` is true.

    In one topology group with the leader, both are counted together anyway.
    """

    leader: str
    worker: str
    works: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """How admission policies hold a kind that can be suspended, in paths and phrases of CEL.

    `unless`: objects that do not wait. `sets`: the pod sets, as records of `cel.one_set`; empty where CEL cannot tell
    them. `checks` hold for every object, `checks_when_held` for those that wait. `unbounded`: when the number of pods
    does not bound the size of slices.
    """

    suspend: str = "spec.suspend"
    unless: str = "false"
    sets: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    checks_when_held: tuple[Check, ...] = ()
    unbounded: str = "false"
    offset: Offset | None = None


def no_roles(_body: Field) -> list[Role]:
    return []


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JobKind:
    """`framework` is the name in Kueue's configuration; `hosted`: whether we run it, or only place it from files.

    Pods: `roles` are its pod sets in a `body` (the path to the part that looks like a job), `rules` those of topology
    that it is held to. `copies` counts workloads where there may be several. `owner` is the kind and group that the
    Workload is named after, if that is not the object itself. `rendered`: the roles are not in the object alone, but in
    what it makes with its runtime. `judges_roles`: what is wrong with them is refused at creation, since the operator
    of the kind does not see to it.

    People: `fields` are those known at a path, where [] stands for every element of a list; `between` is the path to
    metadata between that of the object and that of its pods; `runs_itself`: its own annotations say how long it runs,
    where no pods are seen. `says` describes it, `columns` are those of its definition. `schema` is that of its
    spec, in the form of the embedded host's tables, for a kind that is in none of them.
    """

    served: Kind
    framework: str = ""
    hosted: bool = True
    roles: Callable[[Field], list[Role]] = no_roles
    rules: Rules = Rules.NONE
    body: tuple[str, ...] = ()
    copies: Callable[[Field], int] | None = None
    owner: tuple[str, str] | None = None
    may_be_elastic: bool = False
    rendered: bool = False
    judges_roles: bool = False
    fields: Mapping[str, Collection[str]] = field(default_factory=dict)
    between: str = ""
    runs_itself: bool = False
    says: str = ""
    columns: tuple[Column, ...] = (AGE,)
    schema: Mapping[str, Any] = field(default_factory=dict)
    held: Held | None = None

    @property
    def group(self) -> str:
        return self.served.group

    @property
    def kind(self) -> str:
        return self.served.kind
