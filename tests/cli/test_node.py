"""`closeknit node` on a running cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from cli.conftest import Run
from cli.live import NODES, QUEUES, RACK, Live, Raw, admitted, job
from closeknit.cluster import kinds
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.port import Key


@pytest.fixture(scope="module", autouse=True)
def filled(live: Live) -> None:
    live.create(*NODES, *QUEUES)


def cordoned(store: Store) -> list[str]:
    return [one["metadata"]["name"] for one in store.all(kinds.NODE) if (one.get("spec") or {}).get("unschedulable")]


def is_ready(store: Store, name: str) -> bool:
    conditions = store.get(kinds.NODE, "", name)["status"]["conditions"]
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def test_a_rack_is_cordoned_and_uncordoned_as_a_whole(live: Live, ck: Run) -> None:
    ran = ck("node", "cordon", "r4", "n31")
    assert (ran.code, ran.out) == (0, "node/n31 cordoned\nnode/n41 cordoned\nnode/n42 cordoned\n")
    assert ran.err.startswith("on context closeknit of ")
    assert live.do(cordoned) == ["n31", "n41", "n42"]
    assert ck("node", "uncordon", f"{RACK}=r4", "b2/r3").out == (
        "node/n31 uncordoned\nnode/n32 already uncordoned\nnode/n41 uncordoned\nnode/n42 uncordoned\n"
    )
    assert live.do(cordoned) == []


def test_a_name_that_means_nothing_changes_nothing(live: Live, ck: Run) -> None:
    ran = ck("node", "cordon", "n11", "r9")
    assert (ran.code, ran.out) == (4, "")
    assert "r9: is neither a node nor a topology domain" in ran.err
    assert live.do(cordoned) == []


def test_a_drain_empties_nodes_and_leaves_them_cordoned(live: Live, ck: Run) -> None:
    live.create(job("moved", 4))
    live.until(admitted("moved"))
    live.until(lambda store: len([one for one in store.all(kinds.POD) if one["spec"].get("nodeName")]) == 4)
    ran = ck("node", "drain", "b1", "--timeout", "60s")
    assert ran.code == 0
    assert ran.out.count("cordoned") == 4
    assert ran.out.count(" evicted\n") == 4
    assert live.do(cordoned) == ["n11", "n12", "n21", "n22"]
    live.until(lambda store: not [one for one in store.all(kinds.POD) if one["spec"].get("nodeName") in ("n11", "n12")])
    ck("delete", "job", "moved")
    ck("node", "uncordon", "b1")


def test_a_drain_that_a_budget_holds_back_ends_in_time_with_exit_code_3(live: Live, ck: Run, tmp_path: Path) -> None:
    live.create(job("kept", 2))
    live.until(admitted("kept"))
    live.until(lambda store: sum(one["status"].get("phase") == "Running" for one in store.all(kinds.POD)) == 2)
    selector = {"matchLabels": {"job-name": "kept"}}
    budget = {"minAvailable": 2, "selector": selector}
    live.create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "both", "namespace": "default"},
            "spec": budget,
        }
    )
    live.until(lambda store: (store.get(kinds.BUDGET, "default", "both").get("status") or {}).get("expectedPods") == 2)
    ran = ck("node", "drain", "b1", "--timeout", "0.6s")
    assert ran.code == 3
    assert "error: not evicted within 0.6 s: default/kept-" in ran.err
    assert "disruption budget" in ran.err
    assert "the nodes stay cordoned; try again, or give a longer --timeout" in ran.err
    assert len(live.do(cordoned)) == 4
    live.do(lambda store: store.delete(Key(kinds.BUDGET, "default", "both")))
    ck("delete", "job", "kept")
    ck("node", "uncordon", "b1")


def test_pods_of_a_daemon_set_stay(live: Live, ck: Run) -> None:
    template = {
        "metadata": {"labels": {"app": "agent"}},
        "spec": {"containers": [{"name": "main", "image": "example.com/agent:1"}]},
    }
    live.create(
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "agent", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template},
        }
    )
    live.until(lambda store: len([one for one in store.all(kinds.POD) if one["spec"].get("nodeName")]) == 8)
    ran = ck("node", "drain", "n11", "--timeout", "5s")
    assert (ran.code, ran.out) == (0, "node/n11 cordoned\n")
    ck("node", "uncordon", "n11")
    ck("delete", "daemonset", "agent")


def test_a_drain_that_would_lose_something_is_refused_before_anything_is_done(live: Live, ck: Run) -> None:
    def lone(name: str, **spec: object) -> Raw:
        containers = [{"name": "main", "image": "example.com/work:1"}]
        meta = {"name": name, "namespace": "default"}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": meta,
            "spec": {"nodeName": "n41", "containers": containers, **spec},
        }

    live.create(lone("alone"), lone("scratch", volumes=[{"name": "data", "emptyDir": {}}]))
    ran = ck("node", "drain", "n41")
    assert (ran.code, ran.out) == (2, "")
    assert "Pod default/alone: has no controller that would recreate it; --force evicts it" in ran.err
    assert "Pod default/scratch: has an emptyDir volume and would lose its data; --delete-emptydir-data" in ran.err
    assert live.do(cordoned) == []
    ran = ck("node", "drain", "n41", "--force", "--delete-emptydir-data", "--timeout", "60s")
    assert (ran.code, ran.out.count("evicted")) == (0, 2)
    ck("node", "uncordon", "n41")


def test_simulated_machines_fail_and_recover(live: Live, ck: Run) -> None:
    assert (
        ck("node", "fail", "r2").out == "node/n21 failed\nnode/n22 failed\nno workload is affected: no pods run there\n"
    )
    live.until(lambda store: not is_ready(store, "n21"))
    assert "NotReady" in ck("get", "node", "n21").out
    assert ck("node", "fail", "n21").out == "node/n21 already failed\n"
    assert ck("node", "recover", "r2", "n11").out == (
        "node/n11 had not failed\nnode/n21 recovered\nnode/n22 recovered\n"
    )
    live.until(lambda store: is_ready(store, "n21"))


def test_machines_of_a_real_cluster_do_not_fail_on_demand(live: Live, ck: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster with a plain Kubernetes version, not that of an embedded host."""
    from closeknit.cluster.embedded.rest import discovery

    plain = {**discovery.version(), "gitVersion": "v1.36.3"}
    monkeypatch.setattr(discovery, "version", lambda: plain)
    ran = ck("node", "fail", "n11")
    assert (ran.code, ran.out) == (2, "")
    assert "only simulated nodes can fail and recover on command" in ran.err
    pool = yaml.safe_dump({"racks": 1, "nodesPerRack": 1, "node": {"cpu": 1}})
    (live.folder / "pool.yaml").write_text(pool)
    ran = ck("apply", str(live.folder / "pool.yaml"))
    assert ran.code == 2
    assert "contains pools, which create nodes only on an embedded host" in ran.err
