"""Queues of KAI: units, defaults and mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.kai.queue import GPU, QueueShare, read_queue


def a_queue(**spec: Any) -> Field:
    return Field.root({"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "q"}, "spec": spec})


def test_amounts_are_in_the_units_of_the_model_and_minus_one_is_unlimited() -> None:
    resources = {
        "cpu": {"quota": 1500, "limit": -1, "overQuotaWeight": 1},
        "memory": {"quota": 2, "limit": 4},
        "gpu": {"quota": 0.5, "limit": 8, "overQuotaWeight": 2},
    }
    queue = read_queue(a_queue(parentQueue="top", resources=resources, priority=7, preemptMinRuntime="5m"))
    assert queue is not None
    assert queue.shares == {
        "cpu": QueueShare(1500, None, 1),
        "memory": QueueShare(2_000_000, 4_000_000, 0),
        GPU: QueueShare(0.5, 8, 2),
    }
    assert (queue.name, queue.parent, queue.priority) == ("q", "top", 7)
    assert (queue.preempt_after, queue.reclaim_after) == (300.0, None)


def test_what_is_absent_is_nothing() -> None:
    queue = read_queue(a_queue())
    assert queue is not None
    assert queue.shares["cpu"] == QueueShare(0, 0, 0)
    assert (queue.parent, queue.priority) == ("", 100)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"parentQueue": "q"}, "spec.parentQueue: is the queue itself; name another queue, or remove it"),
        ({"parent": "q"}, "spec.parent: is not a known field; did you mean parentQueue?"),
        (
            {"resources": {"cpu": {"quota": -2}}},
            "spec.resources.cpu.quota: is -2; use a number, 0 or more, or -1 for no limit",
        ),
        (
            {"resources": {"gpu": {"limit": "8"}}},
            'spec.resources.gpu.limit: is "8"; use a number, 0 or more, or -1 for no limit',
        ),
        (
            {"resources": {"gpu": {"overQuotaWeight": -1}}},
            "spec.resources.gpu.overQuotaWeight: is -1; use a number, 0 or more",
        ),
        ({"reclaimMinRuntime": "soon"}, 'spec.reclaimMinRuntime: is "soon"; use a duration such as 90s, 5m or 1h30m'),
    ],
)
def test_a_mistake_is_told_with_field_and_remedy(spec: dict[str, Any], message: str) -> None:
    field = a_queue(**spec)
    assert read_queue(field) is None
    assert list(map(str, field.report.mistakes)) == [message]
