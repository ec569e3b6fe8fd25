"""The descriptor of a kind of job: everything that the rest of the code knows about it, as one value.

It has the API path, the name in Kueue's configuration, the pod sets, the known fields, the columns of `kubectl get` and
what admission policies need. The packages above use the table of descriptors (`kinds`), so adding a kind means writing
one. How a kind waits, starts and is restored is in the two subclasses that the control plane runs:
`integration.Integration` and `kinds.serving.Serving`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ...cel import PolicyCheck
from ...field import Field
from ...served import Kind
from .roles import Role, ValidationRules

ALL_RULES = ValidationRules.COUNT | ValidationRules.GROUPS


class Column(NamedTuple):
    """A column of `kubectl get`; `path` is that of the value.

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
    """An index offset: workers count from 1 if the leader is rank 0, that is if it exists and `works` is true.

    If leader and workers are in one topology group, they are numbered together anyway.
    """

    leader: str
    worker: str
    works: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionHold:
    """What admission policies need to suspend and validate a kind, as paths and CEL expressions.

    `unless`: the condition for objects that do not wait. `sets`: the pod sets, as records of `cel.one_set`; empty if
    CEL cannot compute them. `checks` apply to every object, `checks_when_held` to those that wait. `unbounded`: when
    slices may be larger than the number of pods.
    """

    suspend: str = "spec.suspend"
    unless: str = "false"
    sets: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    checks: tuple[PolicyCheck, ...] = ()
    checks_when_held: tuple[PolicyCheck, ...] = ()
    unbounded: str = "false"
    offset: Offset | None = None


def no_roles(_body: Field) -> list[Role]:
    return []


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JobKind:
    """`framework` is the name in Kueue's configuration; `hosted`: whether we run it, or only place it from files.

    Pods: `roles` are its pod sets in a `body` (the path to the part that looks like a job), `rules` the topology rules
    that apply. `copies` is the number of workloads if there may be several. `owner` is the kind and group that the
    Workload is named after, if that is not the object itself. `rendered`: the roles depend on the runtime as well as
    the object. `judges_roles`: invalid roles are refused at creation, since the kind's operator does not check them.

    Users: `fields` are the known fields by path, where [] stands for every element of a list; `between` is the path of
    intermediate metadata, such as that of a job template inside the object; `runs_itself`: annotations on the object
    itself set how long it runs, since no pods are created. `description` is one sentence, `columns` are those of its
    definition. `schema` describes the spec of a kind without a table in the embedded host.
    """

    served: Kind
    framework: str = ""
    hosted: bool = True
    roles: Callable[[Field], list[Role]] = no_roles
    rules: ValidationRules = ValidationRules.NONE
    body: tuple[str, ...] = ()
    copies: Callable[[Field], int] | None = None
    owner: tuple[str, str] | None = None
    may_be_elastic: bool = False
    rendered: bool = False
    judges_roles: bool = False
    fields: Mapping[str, Collection[str]] = field(default_factory=dict)
    between: str = ""
    runs_itself: bool = False
    description: str = ""
    columns: tuple[Column, ...] = (AGE,)
    schema: Mapping[str, Any] = field(default_factory=dict)
    held: AdmissionHold | None = None

    @property
    def group(self) -> str:
        return self.served.group

    @property
    def kind(self) -> str:
        return self.served.kind
