from __future__ import annotations

from closeknit.dialects.kueue.objects import flavor
from closeknit.model.flavor import Flavor
from closeknit.model.shape import Taint, Toleration


def test_a_flavor_is_labels_taints_tolerations_and_a_topology() -> None:
    raw = {
        "metadata": {"name": "spot"},
        "spec": {
            "nodeLabels": {"pool": "spot"},
            "nodeTaints": [{"key": "spot", "value": "true", "effect": "NoSchedule"}, {"key": "x", "value": None}],
            "tolerations": [{"key": "a"}, {"operator": "Exists", "effect": "NoExecute"}],
            "topologyName": "default",
        },
    }
    assert flavor(raw) == Flavor(
        "spot",
        {"pool": "spot"},
        (Taint("spot", "true", "NoSchedule"), Taint("x", "", "")),
        (Toleration("a", "Equal"), Toleration("", "Exists", "", "NoExecute")),
        "default",
    )


def test_a_flavor_may_be_empty() -> None:
    assert flavor({"metadata": {"name": "default"}, "spec": {"topologyName": None}}) == Flavor("default")
