from __future__ import annotations

from typing import Any

from closeknit.dialects.field import Field
from closeknit.dialects.group_pods import pod_sets, read_pods


def pod(name: str, **labels: str) -> Field:
    container: dict[str, Any] = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    meta = {"name": name, "namespace": "default", "labels": labels}
    return Field.root({"kind": "Pod", "metadata": meta, "spec": {"containers": [container]}})


def test_pods_that_others_may_tell_apart_by_their_labels_are_pod_sets_of_their_own() -> None:
    leader, worker = pod("a", role="leader"), [pod(name, role="worker") for name in "bc"]
    found = pod_sets("g", read_pods([leader, *worker]))
    assert [(one.name, one.pods) for one in found] == [("g:0", ("default/a",)), ("g:1", ("default/b", "default/c"))]
    kinds = [one.shape.kind for one in found]
    assert [kind.labels for kind in kinds if kind is not None] == [(("role", "leader"),), (("role", "worker"),)]


def test_labels_that_number_the_pods_do_not_divide_them() -> None:
    pods = [pod(f"p{at}", **{"apps.kubernetes.io/pod-index": str(at)}) for at in range(3)]
    (only,) = pod_sets("g", read_pods(pods))
    assert (only.name, only.count) == ("g", 3)
