from __future__ import annotations

import pytest

from closeknit.model.container import Container, Needs, QoS, qos_class

CPU, MEMORY = {"cpu": 2000}, {"memory": 4096}
BOTH = CPU | MEMORY


@pytest.mark.parametrize(
    ("containers", "qos"),
    [
        ([], "BestEffort"),
        ([Container.of({})], "BestEffort"),
        ([Container.of({"nvidia.com/gpu": 1}, {"nvidia.com/gpu": 1})], "BestEffort"),
        ([Container.of({"cpu": 0}, {"memory": 0})], "BestEffort"),
        ([Container.of(BOTH, BOTH)], "Guaranteed"),
        ([Container.of({**BOTH, "nvidia.com/gpu": 1}, BOTH)], "Guaranteed"),
        ([Container.of(BOTH)], "Burstable"),
        ([Container.of(CPU, CPU)], "Burstable"),
        ([Container.of({**BOTH, "cpu": 1999}, BOTH)], "Burstable"),
        ([Container.of(BOTH, BOTH), Container.of({})], "Burstable"),
        ([Container.of({}, kind="init"), Container.of(BOTH, BOTH)], "Burstable"),
        ([Container.of(BOTH, BOTH, "sidecar"), Container.of(BOTH, BOTH)], "Guaranteed"),
    ],
)
def test_a_pod_has_the_qos_class_that_kubernetes_gives_it(containers: list[Container], qos: QoS) -> None:
    assert qos_class(containers, None) == qos


def test_what_a_pod_states_for_itself_decides_alone() -> None:
    amounts = tuple(sorted(BOTH.items()))
    assert qos_class([Container.of({})], Needs(amounts, amounts)) == "Guaranteed"
    assert qos_class([Container.of(BOTH, BOTH)], Needs(amounts)) == "Burstable"
