"""Which objects of a kind a client wants: by namespace, by labels, by a few fields.

A `Selection` is parsed once from a request and then evaluated for many objects. Which fields can be selected differs
from kind to kind; an unsupported one is an error, because it would silently find nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ....model.label_names import is_label_value, is_qualified_name
from ....model.shape import Requirement, whole_number
from ...errors import BadRequest
from ...kinds import EVENT, JOB, NAMESPACE, NODE, POD, REPLICA_SET, SECRET, SERVICE, WORKLOAD, Kind
from ...port import Raw

NAME, IN_NAMESPACE = "metadata.name", "metadata.namespace"

_FIELDS: dict[Kind, dict[str, str]] = {
    POD: {
        "spec.nodeName": "",
        "spec.restartPolicy": "",
        "spec.schedulerName": "",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": "false",
        "status.phase": "",
        "status.podIP": "",
        "status.nominatedNodeName": "",
    },
    NODE: {"spec.unschedulable": "false"},
    NAMESPACE: {"status.phase": ""},
    SECRET: {"type": ""},
    SERVICE: {"spec.clusterIP": "", "spec.type": ""},
    REPLICA_SET: {"status.replicas": "0"},
    JOB: {"status.successful": "0"},
    EVENT: {
        **{f"involvedObject.{one}": "" for one in ("kind", "namespace", "name", "uid", "apiVersion", "fieldPath")},
        "involvedObject.resourceVersion": "",
        "reason": "",
        "reportingComponent": "",
        "source": "",
        "type": "",
    },
    WORKLOAD: {"status.admission.clusterQueue": ""},
}
"""The value of a field that an object does not have."""

_PLACES = {"status.successful": ("status", "succeeded"), "source": ("source", "component")}
"""Fields with a path that differs from their name."""


class Selection(NamedTuple):
    """A parsed selector. `name`: only the object of this name can match; empty if there is no such limit."""

    kind: Kind
    namespace: str
    labels: tuple[Requirement, ...] = ()
    fields: tuple[tuple[str, str, bool], ...] = ()
    name: str = ""

    @property
    def is_all(self) -> bool:
        """Whether it selects by namespace only."""
        return not self.labels and not self.fields

    def matches(self, raw: Raw) -> bool:
        meta = raw["metadata"]
        if self.namespace and meta.get("namespace", "") != self.namespace:
            return False
        if self.labels:
            labels = meta.get("labels") or {}
            if not all(one.admits(labels.get(one.key)) for one in self.labels):
                return False
        return all((_value(self.kind, raw, field) == value) is wanted for field, value, wanted in self.fields)


def selection(kind: Kind, namespace: str, labels: str, fields: str) -> Selection:
    """Parse `labelSelector` and `fieldSelector`; raises BadRequest."""
    wanted = tuple(_fields(kind, fields))
    name = next((value for field, value, is_equal in wanted if field == NAME and is_equal), "")
    return Selection(kind, namespace, tuple(_labels(labels)), wanted, name)


# Fields


def _fields(kind: Kind, text: str) -> Iterator[tuple[str, str, bool]]:
    for term in re.split(r"(?<!\\),", text):
        if not term:
            continue
        match = re.fullmatch(r"([^=!]*)(==|!=|=)(.*)", term, re.DOTALL)
        if match is None:
            raise BadRequest(f"invalid field selector: there is no =, == or != in {term!r}")
        field, operator, value = match.groups()
        if field not in (NAME, IN_NAMESPACE) and field not in _FIELDS.get(kind, ()):
            raise BadRequest(f"field label not supported: {field}")
        yield field, re.sub(r"\\(.)", r"\1", value), operator != "!="


def _value(kind: Kind, raw: Raw, field: str) -> str:
    if field == NAME:
        return str(raw["metadata"]["name"])
    if field == IN_NAMESPACE:
        return str(raw["metadata"].get("namespace", ""))
    value: Any = raw
    for step in _PLACES.get(field) or field.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if value is None or value == "":
        return _FIELDS[kind][field]
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


# Labels

_TOKEN = re.compile(r"\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)")
_SIGNS = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">"})
_OPERATORS = {"=": "In", "==": "In", "!=": "NotIn", "in": "In", "notin": "NotIn", ">": "Gt", "<": "Lt"}


def _labels(text: str) -> Iterator[Requirement]:
    """_labels("a=1,!b,c in (x, y)") gives a In (1), b DoesNotExist, c In (x, y)."""
    if not text.strip():
        return
    tokens = _Tokens(text)
    while True:
        yield _requirement(tokens)
        if tokens.next is None:
            return
        tokens.take(",")


class _Tokens:
    def __init__(self, text: str) -> None:
        self._rest = iter(_TOKEN.findall(text))
        self.next: str | None = next(self._rest, None)

    def pop(self) -> str | None:
        token, self.next = self.next, next(self._rest, None)
        return token

    def take(self, sign: str) -> None:
        if self.pop() != sign:
            raise BadRequest(f"unable to parse requirement: expected {sign!r}")

    def word(self) -> str:
        """The next word; empty where a sign or the end follows."""
        return "" if self.next is None or self.next in _SIGNS else str(self.pop())


def _requirement(tokens: _Tokens) -> Requirement:
    is_negated = tokens.next == "!"
    if is_negated:
        tokens.pop()
    key = tokens.word()
    if not is_qualified_name(key):
        raise BadRequest(f'unable to parse requirement: "{key}" is not a label key')
    if is_negated:
        return Requirement(key, "DoesNotExist")
    if tokens.next in (None, ","):
        return Requirement(key, "Exists")
    sign = str(tokens.pop())
    operator = _OPERATORS.get(sign)
    if operator is None:
        raise BadRequest(f'unable to parse requirement: "{sign}" is not an operator')
    values = _values(tokens) if sign in ("in", "notin") else (tokens.word(),)
    wrong = next((one for one in values if not _is_value(operator, one)), None)
    if wrong is not None:
        raise BadRequest(f'unable to parse requirement: "{wrong}" cannot be the value of a label here')
    return Requirement(key, operator, values)


def _values(tokens: _Tokens) -> tuple[str, ...]:
    tokens.take("(")
    values = [tokens.word()]
    while tokens.next == ",":
        tokens.pop()
        values.append(tokens.word())
    tokens.take(")")
    return tuple(values)


def _is_value(operator: str, text: str) -> bool:
    return whole_number(text) is not None if operator in ("Gt", "Lt") else is_label_value(text)


# Selectors to text


def label_text(labels: Raw) -> str:
    """label_text({"b": "2", "a": "1"}) == "a=1,b=2"."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def selector_text(selector: Raw) -> str:
    """The selector of an object as text: "app=web,tier in (a,b),!old"."""
    terms = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for one in selector.get("matchExpressions") or ():
        key, values = one["key"], ",".join(sorted(one.get("values") or ()))
        forms = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "DoesNotExist": f"!{key}"}
        terms.append((key, forms.get(one["operator"], key)))
    return ",".join(text for _, text in sorted(terms))
