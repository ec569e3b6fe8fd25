from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from closeknit.dialects.kueue.objects import with_status, workload, workload_status
from closeknit.model.assignment import Assignment
from closeknit.model.shape import Toleration
from closeknit.model.workload import LONG_AGO, Admission, Check, Condition, PodSetAssignment, PodSetUpdate, Status

NAMES = st.sampled_from(["a", "b-1", "b-2", "kueue.x-k8s.io/x"])
TEXTS = st.sampled_from(["", "text", "ä"])
TIMES = st.one_of(st.just(LONG_AGO), st.integers(0, 4 * 10**9).map(float), st.integers(0, 10**9).map(lambda n: n / 64))
COUNTS = st.integers(0, 2**31 - 1)
LABELS = st.dictionaries(NAMES, TEXTS, max_size=2)
RESOURCES = st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.integers(0, 2**63 - 1))
PLACES = st.dictionaries(NAMES, st.integers(1, 9), min_size=1).map(
    lambda hosts: Assignment(("kubernetes.io/hostname",), tuple((host,) for host in hosts), tuple(hosts.values()))
)
CONDITIONS = st.builds(Condition, st.booleans(), TEXTS, TEXTS, TIMES, COUNTS)
ASSIGNMENTS = st.builds(
    PodSetAssignment,
    NAMES,
    LABELS,
    RESOURCES,
    COUNTS,
    st.none() | PLACES,
    st.sampled_from([None, "Pending", "Ready"]),
)
ADMISSIONS = st.builds(Admission, NAMES, st.lists(ASSIGNMENTS, max_size=2, unique_by=lambda one: one.name).map(tuple))
TOLERATIONS = st.builds(Toleration, TEXTS, st.sampled_from(["Equal", "Exists"]), TEXTS, TEXTS)
UPDATES = st.builds(PodSetUpdate, NAMES, LABELS, LABELS, LABELS, st.lists(TOLERATIONS, max_size=2).map(tuple))
CHECKS = st.builds(
    Check,
    NAMES,
    st.sampled_from(["Pending", "Ready", "Retry", "Rejected"]),
    TEXTS,
    TIMES,
    st.lists(UPDATES, max_size=2).map(tuple),
    st.none() | COUNTS,
    COUNTS,
)
STATUSES = st.builds(
    Status,
    st.dictionaries(NAMES, CONDITIONS),
    st.none()
    | st.builds(Admission, NAMES, st.lists(ASSIGNMENTS, max_size=2, unique_by=lambda one: one.name).map(tuple)),
    st.none() | st.integers(0, 10**9).map(float),
    COUNTS,
    st.dictionaries(NAMES, COUNTS),
    st.lists(CHECKS, max_size=2, unique_by=lambda one: one.name).map(tuple),
    st.lists(NAMES, max_size=2, unique=True).map(tuple),
    st.dictionaries(st.tuples(NAMES, TEXTS), COUNTS),
    st.frozensets(NAMES),
    st.lists(st.tuples(NAMES, RESOURCES), max_size=2, unique_by=lambda one: one[0]).map(tuple),
)


@given(STATUSES)
def test_a_status_that_is_written_and_read_again_is_the_same(status: Status) -> None:
    wire = json.loads(json.dumps(workload_status(status)))
    assert workload({"status": wire}).status == status


@given(STATUSES, STATUSES)
def test_a_status_written_over_another_is_the_one_that_was_wanted(old: Status, new: Status) -> None:
    raw = with_status({"news": 1}, old)
    got = with_status(raw, new)
    assert workload(got).status == new
    assert got["news"] == 1
