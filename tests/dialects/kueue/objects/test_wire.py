from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue import objects
from closeknit.dialects.kueue.objects.wire import without_nulls

READERS = [
    objects.admission_check,
    objects.cluster_queue,
    objects.cohort,
    objects.flavor,
    objects.local_queue,
    objects.priority_class,
    objects.provisioning_config,
    objects.topology,
    objects.workload,
]


def test_what_is_exported_is_listed_in_order() -> None:
    assert list(objects.__all__) == sorted(objects.__all__)
    assert all(hasattr(objects, name) for name in objects.__all__)


def test_nulls_are_removed_at_every_depth_and_empty_values_stay() -> None:
    assert without_nulls({"a": None, "b": [None, {"c": None, "d": {}}], "e": []}) == {"b": [{"d": {}}], "e": []}


@pytest.mark.parametrize("reader", READERS)
def test_an_object_may_lack_everything(reader: Any) -> None:
    empty = reader({})
    assert reader({"metadata": None, "spec": None, "status": None, "value": None}) == empty
    assert reader({"metadata": {}, "spec": {}, "status": {}, "news": {"a": 1}}) == empty


@pytest.mark.parametrize("reader", READERS)
def test_a_wrong_type_is_refused_with_the_name_of_the_object(reader: Any) -> None:
    with pytest.raises(objects.Unreadable, match=r"^Thing team/x: Expected `"):
        reader({"kind": "Thing", "metadata": {"namespace": "team", "name": "x", "labels": 3}})
    with pytest.raises(objects.Unreadable, match="an object must be a mapping, not list"):
        reader([])
    with pytest.raises(objects.Unreadable, match="object: "):
        reader({"metadata": "x"})


def test_invalid_quantities_times_and_assignments_are_refused_too() -> None:
    template = {"spec": {"containers": [{"resources": {"requests": {"cpu": "much"}}}]}}
    assignment = {"levels": ["a"], "slices": [{"domainCount": 2}]}
    for raw in (
        {"spec": {"podSets": [{"template": template}]}},
        {"metadata": {"creationTimestamp": "yesterday"}},
        {"status": {"admission": {"podSetAssignments": [{"topologyAssignment": assignment}]}}},
    ):
        with pytest.raises(objects.Unreadable):
            objects.workload(raw)
    with pytest.raises(objects.Unreadable):
        objects.cluster_queue({"spec": {"fairSharing": {"weight": "heavy"}}})
