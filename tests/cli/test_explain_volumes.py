"""`explain` of a job on a whole cluster from files: what its volumes exclude, and what helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from cli.test_place_with_rules import job, node, volumes
from closeknit.cli.explain import command

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: t}
spec: {levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: f}
spec: {topologyName: t, nodeLabels: {pool: "1"}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 100}]}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: team}
spec: {clusterQueue: cq}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
"""


def explained(folder: Path, *objects: dict[str, Any]) -> str:
    nodes = [node("a1", 8), node("b1", 4)]
    for one in nodes:
        one["metadata"]["labels"]["pool"] = "1"
    (folder / "job.yaml").write_text(yaml.safe_dump(job()))
    (folder / "cluster.yaml").write_text(QUEUES + "---\n" + yaml.safe_dump_all([*nodes, *objects]))
    words = [str(folder / "job.yaml"), "--cluster", str(folder / "cluster.yaml")]
    result = CliRunner().invoke(command, words, standalone_mode=False)
    assert result.exception is None, result.output
    return result.output


def test_a_missing_claim_is_named_with_what_helps(tmp_path: Path) -> None:
    told = explained(tmp_path, *volumes("other"))
    assert 'PersistentVolumeClaim "data" does not exist: 2' in told
    assert "create PersistentVolumeClaim data in namespace team" in told


def test_a_claim_that_is_not_bound_is_named_with_what_helps(tmp_path: Path) -> None:
    claim = volumes("team")[1]
    del claim["spec"]["volumeName"]
    told = explained(tmp_path, claim)
    assert 'PersistentVolumeClaim "data" is not bound: 2' in told
    assert "WaitForFirstConsumer" in told


@pytest.mark.parametrize("given", [True, False])
def test_a_job_whose_claim_is_bound_or_not_known_starts(tmp_path: Path, given: bool) -> None:
    told = explained(tmp_path, *(volumes("team") if given else ()))
    assert "PersistentVolumeClaim" not in told
    assert "a1" in told if given else "b1" in told
