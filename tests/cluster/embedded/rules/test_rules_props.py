"""Whatever a client sends is either taken or refused, never a crash; what was filled in once stays as it is."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from closeknit.cluster import kinds
from closeknit.cluster.embedded.rules.table import RULES
from closeknit.cluster.errors import Refused
from closeknit.cluster.kinds import KINDS, Kind
from closeknit.cluster.port import Raw
from cluster.embedded.rules.hosts import CONTAINER, KUEUE, QUEUE, Host, a_set, job, pod, template

WORDS = (
    "spec",
    "template",
    "metadata",
    "labels",
    "annotations",
    "containers",
    "resources",
    "limits",
    "cpu",
    "ports",
    "env",
    "volumes",
    "selector",
    "matchLabels",
    "replicas",
    "parallelism",
    "replicatedJobs",
    "podSets",
    "status",
    "conditions",
    "suspend",
    "taints",
    "data",
    "limits",
    "runPolicy",
    "workerGroupSpecs",
    "schedulingGates",
    "tolerations",
    "affinity",
    "nodeAffinity",
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "1", "x", "Bad Name", "100%", "*", "Always", "1Gi"])
    | st.text(max_size=8)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=5), inner),
    max_leaves=25,
)
REPLICATED = {"name": "w", "replicas": 2, "template": {"spec": {"template": template()}}}
GOOD: dict[Kind, Raw] = {
    kinds.POD: pod(volumes=[{"name": "v"}], tolerations=[{"operator": "Exists"}], resources={"limits": {"cpu": 1}}),
    kinds.JOB: job(labels={QUEUE: "q"}, parallelism=2, podFailurePolicy={"rules": []}),
    kinds.CRON_JOB: {"spec": {"schedule": "@daily", "jobTemplate": {"spec": job()["spec"]}}},
    kinds.DEPLOYMENT: a_set(strategy={"type": "Recreate"}),
    kinds.STATEFUL_SET: a_set(volumeClaimTemplates=[{"metadata": {"name": "v"}}]),
    kinds.DAEMON_SET: a_set(),
    kinds.REPLICA_SET: a_set(),
    kinds.SERVICE: {"spec": {"ports": [{"port": 80}], "type": "NodePort"}},
    kinds.NODE: {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}, "status": {"capacity": {"cpu": 4}}},
    kinds.SECRET: {"stringData": {"a": "b"}},
    kinds.LIMIT_RANGE: {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}},
    kinds.WORKLOAD: {"spec": {"podSets": [{"template": template()}]}},
    kinds.JOB_SET: {"spec": {"replicatedJobs": [REPLICATED], "failurePolicy": {"rules": [{"action": "FailJobSet"}]}}},
    kinds.LEADER_WORKER_SET: {"spec": {"leaderWorkerTemplate": {"workerTemplate": template()}}},
    kinds.RAY_CLUSTER: {
        "spec": {
            "headGroupSpec": {"template": template()},
            "workerGroupSpecs": [{"groupName": "g", "template": template()}],
        }
    },
    kinds.MPI_JOB: {"spec": {"mpiReplicaSpecs": {"Worker": {"template": template()}}}},
    kinds.PYTORCH_JOB: {
        "spec": {
            "pytorchReplicaSpecs": {
                "Master": {"template": {"spec": {"containers": [{**CONTAINER, "name": "pytorch"}]}}}
            }
        }
    },
}


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Kind, Raw]:
    """A good object of which one part, somewhere, is anything at all."""
    kind = draw(st.sampled_from(list(GOOD)))
    body = copy.deepcopy(GOOD[kind])
    place: Any = body
    while True:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = draw(st.sampled_from(list(keys)))
        inner = place[key]
        if isinstance(inner, dict | list) and inner and draw(st.booleans()):
            place = inner
            continue
        place[key] = draw(TREES)
        return kind, body


def survives(host: Host, kind: Kind, body: Raw) -> Raw | None:
    """The object if it is taken; nothing but a refusal may come instead."""
    meta = body.get("metadata")
    whole = {**body, "metadata": {**(meta if isinstance(meta, dict) else {}), "name": "x", "namespace": "default"}}
    given_before = copy.deepcopy(whole)
    made = taken(lambda: host.create(kind, whole))
    assert whole == given_before
    return made


def taken(act: Callable[[], Raw]) -> Raw | None:
    try:
        return act()
    except Refused as refusal:
        code = refusal.code
    assert 400 <= code < 500
    return None


@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=5), TREES, max_size=4))
def test_any_tree_is_taken_or_refused(kind: Kind, body: Raw) -> None:
    survives(Host(), kind, body)


@given(damaged())
def test_a_good_object_with_one_bad_part_is_taken_or_refused(case: tuple[Kind, Raw]) -> None:
    survives(Host(), *case)


@given(st.sampled_from(list(GOOD)), st.sampled_from(["", "status"]), TREES)
def test_any_change_is_taken_or_refused(kind: Kind, subresource: str, change: Any) -> None:
    host = Host()
    host.create(kind, GOOD[kind])
    taken(lambda: host.patch(kind, {"status" if subresource else "spec": change}, subresource))


@given(st.sampled_from(list(GOOD)))
def test_defaulting_is_idempotent(kind: Kind) -> None:
    made = Host().create(kind, GOOD[kind])
    assert RULES[kind].fill(made) == made


@given(st.sampled_from(list(GOOD)), st.sampled_from([{"a": "b"}, {KUEUE + "x": "y"}]))
def test_a_change_of_labels_changes_nothing_else(kind: Kind, labels: dict[str, str]) -> None:
    host = Host()
    before = host.create(kind, GOOD[kind])
    after = host.patch(kind, {"metadata": {"labels": labels}})
    assert after.get("spec") == before.get("spec")
    assert after["metadata"].get("generation") == before["metadata"].get("generation")
