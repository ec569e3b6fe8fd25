"""`--selector`: select nodes by label, as a flavor's nodeLabels do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from ..model.label_names import is_label_value, is_qualified_name
from ..model.mistake import InputError, refuse
from ..model.nearest import did_you_mean
from ..observe.nodes import name_some
from ..state.snapshot import with_labels
from ..state.table import NodeTable

OPTION = click.option(
    "--selector",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only nodes with this label, as in a flavor's nodeLabels; may be repeated.",
)


def parse_selector(parts: Sequence[str], what: str = "--selector") -> dict[str, str]:
    labels: dict[str, str] = {}
    for part in (piece.strip() for text in parts for piece in text.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not is_qualified_name(key) or not is_label_value(value):
            raise refuse(f'"{part}" is not a label', "write KEY=VALUE", what=what)
        if labels.setdefault(key, value) != value:
            raise refuse(f"has two values for {key}", "remove one of them", what=what)
    return labels


def select(table: NodeTable, labels: Mapping[str, str], where: str = "", what: str = "--selector") -> NodeTable:
    """The nodes with all of these labels; if there are none, raises an error that names `where` and `what`."""
    chosen = with_labels(table, labels)
    if not len(chosen):
        raise _nothing_selected(table, labels, where, what)
    return chosen


def _nothing_selected(table: NodeTable, labels: Mapping[str, str], where: str, what: str) -> InputError:
    """The error for a selector without nodes; it names the single label that no node has, if there is one."""
    for key, value in labels.items():
        column = table.labels.get(key)
        if column is None:
            return refuse(f'no node has the label "{key}"', _near(key, list(table.labels)), where, what)
        if value not in column.index:
            return refuse(f'no node has {key} "{value}"', _near(value, column.values), where, what)
    wanted = ", ".join(f"{key}={value}" for key, value in labels.items())
    return refuse(f"no node has all of {wanted}", "use fewer labels", where, what)


def _near(given: str, known: Sequence[str]) -> str:
    there = f"the nodes have {name_some(sorted(known))}" if known else "the nodes have no labels"
    return did_you_mean(given, known).strip() or there
