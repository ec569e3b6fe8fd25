"""One CustomResourceDefinition: names, scope, columns and subresources around the schema of its kind."""

from __future__ import annotations

from typing import Any

from ...cluster.embedded.rest.custom_rows import COLUMNS, CONDITIONS
from ...cluster.kinds import KINDS, MAINTENANCE, NODE_TOPOLOGY, WORKLOAD, Kind
from ...dialects.kueue.jobs.job_kind import AGE, Column
from .schema import schema

Raw = dict[str, Any]

KUEUE_KINDS: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind.group == WORKLOAD.group)
DEFINED: tuple[Kind, ...] = (*KUEUE_KINDS, MAINTENANCE, NODE_TOPOLOGY)
"""The kinds of Kueue, our own, and that of the agents that report NUMA zones."""
APPROVALS: dict[Kind, str] = {NODE_TOPOLOGY: "https://github.com/kubernetes/enhancements/pull/1870"}
"""Where the API was approved: a server asks that of groups below k8s.io."""
SELECTABLE: dict[Kind, tuple[str, ...]] = {WORKLOAD: (".status.admission.clusterQueue",)}
"""Fields that `kubectl get --field-selector` can select by, besides names."""

APPROVED = "api-approved.kubernetes.io"
EMBEDDED_ONLY = ("wl",)
"""Closeknit's own short names, left out because another kind of the cluster may use them."""


def definitions() -> list[Raw]:
    return [definition(kind) for kind in DEFINED]


def definition(kind: Kind) -> Raw:
    """The definition of a kind. Only the stored version is served; no object exists in an older one."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": _metadata(kind),
        "spec": {
            "group": kind.group,
            "names": _names(kind),
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [_version(kind)],
        },
    }


def _metadata(kind: Kind) -> Raw:
    metadata: Raw = {"name": kind.resource, "labels": {"app.kubernetes.io/part-of": "closeknit"}}
    return {**metadata, "annotations": {APPROVED: APPROVALS[kind]}} if kind in APPROVALS else metadata


def _names(kind: Kind) -> Raw:
    names: Raw = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.singular,
        "shortNames": [name for name in kind.short if name not in EMBEDDED_ONLY],
    }
    return {**names, "categories": list(kind.categories)} if kind.categories else names


def _version(kind: Kind) -> Raw:
    """The version, with the columns that have a path; those that the embedded host computes are left out.

    Age alone is the default of a server anyway.
    """
    version: Raw = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema(kind)},
    }
    columns = [_column(one) for one in COLUMNS.get(kind, ()) if isinstance(one, Column)]
    if columns not in ([], [_column(AGE)]):
        version["additionalPrinterColumns"] = columns
    if kind in SELECTABLE:
        version["selectableFields"] = [{"jsonPath": path} for path in SELECTABLE[kind]]
    if kind.status:
        version["subresources"] = {"status": {}}
    return version


def _column(one: Column) -> Raw:
    filtered = f"[?(@.type=='{one.condition}')].status" if one.path == CONDITIONS else ""
    column: Raw = {"name": one.name, "type": one.type, "jsonPath": f".{one.path}{filtered}"}
    return {**column, "priority": 1} if one.is_wide else column
