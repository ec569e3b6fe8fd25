"""Whatever order requests, bindings, deletions and late reports come in: kubelets admit every pod that is bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.extender.applicant import Applicant
from closeknit.extender.compat import CompatZones
from closeknit.extender.extender import Extender
from closeknit.extender.strict import StrictZones
from closeknit.model.container import Kind
from closeknit.model.numa import NodeZones, TopologyPolicy, TopologyScope
from closeknit.model.resources import CPU, MEMORY
from closeknit.numa.admission import NodeAdmission
from closeknit.numa.fingerprint import fingerprint
from closeknit.numa.reported import reported_admission

from .makers import applicant, asks, known, report

NODES = ("a", "b")
KINDS: Sequence[Kind] = ("init", "sidecar", "app")

containers = st.lists(st.builds(asks, st.integers(0, 9), st.integers(1, 40), st.integers(0, 3)), min_size=1, max_size=3)
guaranteed = st.lists(st.builds(asks, st.integers(1, 9), st.integers(1, 40), st.integers(0, 3)), min_size=1, max_size=3)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), containers, st.lists(st.sampled_from(KINDS), max_size=2)),
        st.tuples(st.sampled_from(["bind", "lose", "delete"]), st.integers(0, 7), st.integers(0, 1)),
        st.tuples(st.sampled_from(["measure", "deliver", "wait"]), st.integers(0, 1), st.none()),
    ),
    min_size=4,
    max_size=40,
)


@dataclass
class Cluster:
    """The real kubelets, and reports that are on their way."""

    policy: TopologyPolicy
    scope: TopologyScope
    kubelets: dict[str, NodeAdmission] = field(default_factory=dict)
    pods: dict[str, list[str]] = field(default_factory=dict)
    measured: dict[str, NodeZones] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in NODES:
            self.pods[name] = []
            self.kubelets[name] = reported_admission(report(name, {}, {}, policy=self.policy, scope=self.scope))
            self.measure(name)

    def measure(self, name: str) -> None:
        """The agent looks at what is free, and sends a report that arrives later."""
        kubelet = self.kubelets[name]
        zones = []
        for zone, own in kubelet.cpus.places.zones.items():
            devices = kubelet.devices.free["nvidia.com/gpu"]
            free = {CPU: (own & kubelet.cpus.free).bit_count() * 1000, "nvidia.com/gpu": devices[1 << zone]}
            zones.append({**free, MEMORY: kubelet.memory.zones[zone].free[MEMORY]})
        mark = fingerprint(("default", one) for one in self.pods[name])
        self.measured[name] = report(name, *zones, policy=self.policy, scope=self.scope, fingerprint=mark)

    def run(self, node: str, pod: Applicant) -> bool:
        self.pods[node].append(pod.uid)
        return self.kubelets[node].admit(pod.uid, pod.demand).admitted

    def end(self, node: str, uid: str) -> None:
        if uid in self.pods[node]:
            self.pods[node].remove(uid)
            self.kubelets[node].remove(uid)


@given(steps, st.sampled_from(["container", "pod"]))
@settings(max_examples=60, deadline=None)
def test_every_pod_that_is_bound_is_admitted(script: list[tuple[str, ...]], scope: TopologyScope) -> None:
    cluster = Cluster("single-numa-node", scope)
    extender = Extender(known(StrictZones(), *cluster.measured.values()))
    asked: list[tuple[Applicant, list[str]]] = []
    bound: list[tuple[str, str]] = []
    now = 0.0
    for verb, first, second in script:
        now += 0.1
        if verb == "ask":
            pod = applicant(f"p{len(asked)}-{now:.1f}", *first, kinds=[*second, "app", "app"])
            asked.append((pod, [NODES[at] for at in extender.filter(pod, NODES, now).passing]))
        elif verb in ("bind", "lose") and asked:
            pod, offered = asked.pop(int(first) % len(asked))
            node = offered[int(second) % len(offered)] if offered else ""
            if node and extender.bind(pod, node, now) == "":
                if verb == "bind":
                    assert cluster.run(node, pod), "the kubelet refused a pod that was promised"
                    bound.append((node, pod.uid))
                    extender.bound(pod.uid)
                else:
                    extender.unbound(pod.uid)
        elif verb == "delete" and bound:
            node, uid = bound.pop(int(first) % len(bound))
            cluster.end(node, uid)
            extender.drop_pod(uid)
        elif verb == "measure":
            cluster.measure(NODES[int(first)])
        elif verb == "deliver":
            extender.put_report(cluster.measured[NODES[int(first)]], now)
        elif verb == "wait":
            now += 40
    assert extender.charged <= len(bound)


@given(st.lists(st.tuples(guaranteed, st.integers(0, 1)), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_kubelets_admit_what_compat_binds_of_app_containers(pods: list[tuple[list[dict[str, int]], int]]) -> None:
    """Sidecars and init containers are where the plug-in and the kubelet differ."""
    cluster = Cluster("single-numa-node", "container")
    extender = Extender(known(CompatZones(), *cluster.measured.values()))
    for number, (some, choice) in enumerate(pods):
        pod = applicant(f"p{number}", *some)
        offered = extender.filter(pod, NODES, 0).passing
        node = NODES[offered[choice % len(offered)]] if offered else ""
        if node and extender.bind(pod, node, 0) == "":
            extender.bound(pod.uid)
            assert cluster.run(node, pod)


@given(st.lists(st.tuples(containers, st.sampled_from(NODES)), max_size=6), containers)
@settings(max_examples=25, deadline=None)
def test_pods_that_pend_count_as_if_they_were_bound(
    before: list[tuple[list[dict[str, int]], str]], asked: list[dict[str, int]]
) -> None:
    """A node passes beside pods that pend there exactly if it passes once they are bound there."""
    for make in (StrictZones, CompatZones):
        pending = Extender(known(make(), *(report(name, {}, {}) for name in NODES)))
        bound = Extender(known(make(), *(report(name, {}, {}) for name in NODES)))
        for number, (some, node) in enumerate(before):
            pod = applicant(f"p{number}", *some)
            if bound.bind(pod, node, 0) == "":
                bound.bound(pod.uid)
                pending.filter(pod, [node], 0)
        new = applicant("new", *asked)
        found = {NODES[at] for at in bound.filter(new, NODES, 0).passing}
        offered = {NODES[at] for at in pending.filter(new, NODES, 0).passing}
        assert not found or offered == found
