"""Kueue's Workload as a job: its pod sets are read unchanged."""

from __future__ import annotations

from ....model.gates import Gates
from ....model.request import PodSet
from ...field import Field
from ...own_marks import ORDER
from ...pod_template import read_template
from ..per_replica import own_mistakes, with_own_keys
from ..topology_request import Grouped, TopologyRequest
from ..validation import request_mistakes
from .roles import MAIN, check_names


def workload(body: Field, gates: Gates) -> list[Grouped]:
    sets = body.at("spec", "podSets")
    if sets.value in (None, []):
        sets.wrong("is empty" if sets.given else "is missing", "add at least one entry")
    is_old = body.at("apiVersion").text().endswith("/v1beta1")
    order = body.at("metadata", "annotations").strings().get(ORDER, "")
    read = [_pod_set(one, gates, is_old, order) for one in sets.items()]
    check_names([_name(one) for one in sets.items()])
    least = [one.at("minCount") for one in sets.items() if one.at("minCount").given]
    for further in least[1:]:
        further.wrong("is set for a second pod set", "only one pod set may have a minCount")
    return [] if body.report else [one for one in read if one is not None]


def _name(one: Field) -> Field:
    name = one.at("name")
    return name if name.given else Field(MAIN, name.path, name.report)


def _pod_set(one: Field, gates: Gates, is_old: bool, order: str) -> Grouped | None:
    count = one.at("count").count(1)
    least = one.at("minCount").count(count, least=1)
    if least > count:
        one.at("minCount").wrong(f"is {least}, more than the count of {count}", f"use at most {count}")
    shape = read_template(one.at("template"))
    request = _request(one.at("topologyRequest"), is_old) if "TopologyAwareScheduling" in gates else TopologyRequest()
    if shape is None or request is None:
        return None
    one.report.add(request_mistakes(request, count, gates, one.at("topologyRequest").path))
    notes = one.at("template", "metadata", "annotations")
    one.report.add(own_mistakes(notes.strings(), count, request.ranks(), gates, notes.path))
    constraint = with_own_keys(request.constraint(), notes.strings(), count, request.ranks(), order, gates)
    return PodSet(str(_name(one).value), count, shape, constraint, request.ranks()), request.pod_set_group_name


def _request(field: Field, is_old: bool) -> TopologyRequest | None:
    """The topology request; None if it does not decode. v1beta1 has no layers, and drops them silently."""
    request = field.decode(TopologyRequest)
    if request is not None and is_old:
        request.layers = None
    return request
