"""Kueue's configuration: the settings that affect admission."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.kueue.configuration import ClientLimits, Configuration, Election, configuration
from closeknit.model.address import Address
from closeknit.model.cluster_queue import Selector
from closeknit.model.settings import FAIR, FINAL_SHARE, PodsReady, Settings, Transformation
from closeknit.model.shape import Requirement


def read(**given: Any) -> Configuration:
    root = Field.root({"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **given})
    found = configuration(root)
    assert list(root.report.mistakes) == []
    return found


def wrong(**given: Any) -> list[str]:
    root = Field.root({"kind": "Configuration", **given})
    configuration(root)
    return [str(mistake) for mistake in root.report.mistakes]


def test_an_empty_configuration_has_the_defaults() -> None:
    assert read() == Configuration(Settings())


def test_fair_sharing_is_on_where_it_is_mentioned() -> None:
    assert read(fairSharing={}).settings.fair_sharing == FAIR
    assert read(fairSharing={"preemptionStrategies": [FINAL_SHARE]}).settings.fair_sharing == (FINAL_SHARE,)


def test_in_v1beta1_fair_sharing_has_an_enable_field() -> None:
    old = "config.kueue.x-k8s.io/v1beta1"
    assert read(apiVersion=old, fairSharing={"enable": False}).settings.fair_sharing == ()
    assert read(apiVersion=old, fairSharing={"enable": True}).settings.fair_sharing == FAIR


def test_what_quota_counts() -> None:
    found = read(
        resources={
            "quotaCheckStrategy": "IgnoreUndeclared",
            "excludeResourcePrefixes": ["example.com/"],
            "transformations": [
                {"input": "nvidia.com/mig-1g.5gb", "strategy": "Replace", "outputs": {"example.com/memory": "5Gi"}},
                {"input": "cpu", "outputs": {"credits": "2"}, "multiplyBy": "pods"},
            ],
        }
    ).settings
    assert found.ignore_undeclared
    assert found.exclude_prefixes == ("example.com/",)
    assert found.transformations == (
        Transformation("nvidia.com/mig-1g.5gb", {"example.com/memory": 5 * 2**30 * 10**9}, retain=False),
        Transformation("cpu", {"credits": 2 * 10**9}, multiply_by="pods"),
    )


def test_requeuing_after_pods_were_not_ready() -> None:
    given = {"requeuingStrategy": {"timestamp": "Creation"}}
    assert read(waitForPodsReady=given).settings.requeue_by == "Creation"


def test_known_gates_are_read_and_others_are_warned_of() -> None:
    root = Field.root({"featureGates": {"PartialAdmission": False, "MultiKueueBatchJobWithManagedBy": True}})
    assert configuration(root).gates == {"PartialAdmission": False}
    (warning,) = root.report.warnings
    assert "MultiKueueBatchJobWithManagedBy: is not a known feature gate" in str(warning)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"fairSharing": {"preemptionStrategies": ["Nobody"]}}, "fairSharing.preemptionStrategies[0]: is"),
        ({"fairSharing": {"preemptionStrategies": [*FAIR[::-1]]}}, "fairSharing.preemptionStrategies: is"),
        ({"resources": {"quotaCheckStrategy": "Sometimes"}}, "resources.quotaCheckStrategy: is"),
        ({"resources": {"transformations": [{"outputs": {}}]}}, "resources.transformations[0].input: is missing"),
        (
            {"resources": {"transformations": [{"input": "cpu", "outputs": {"a": "much"}}]}},
            'resources.transformations[0].outputs.a: is "much", not a quantity',
        ),
        ({"featureGates": {"PartialAdmission": "yes"}}, 'featureGates.PartialAdmission: is "yes"; use true or false'),
    ],
)
def test_mistakes_are_reported_with_the_field(given: dict[str, Any], said: str) -> None:
    found = wrong(**given)
    assert found
    assert said in found[0]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"admissionFairSharing": {"usageHalfLifeTime": "5m"}}, "admissionFairSharing"),
    ],
)
def test_ignored_fields_are_warned_of(given: dict[str, Any], field: str) -> None:
    root = Field.root({"kind": "Configuration", **given})
    configuration(root)
    assert [warning.field for warning in root.report.warnings] == [field]


def test_workloads_wait_half_an_hour_for_their_pods_by_default() -> None:
    assert read().pods_ready == PodsReady(timeout=1800.0, recovery=None, limit=None, base=60.0, longest=3600.0)
    told = {
        "timeout": "1h30m",
        "recoveryTimeout": "0s",
        "requeuingStrategy": {"backoffLimitCount": 3, "backoffBaseSeconds": 10, "backoffMaxSeconds": 40},
    }
    assert read(waitForPodsReady=told).pods_ready == PodsReady(5400.0, 0.0, 3, 10.0, 40.0)


def test_in_v1beta1_waiting_for_pods_has_an_enable_field() -> None:
    old = "config.kueue.x-k8s.io/v1beta1"
    assert read(apiVersion=old).pods_ready is None
    found = read(apiVersion=old, waitForPodsReady={"enable": True}).pods_ready
    assert found == PodsReady(timeout=300.0, blocks=True)


def test_admission_is_blocked_only_on_request_and_in_v1beta1_by_default() -> None:
    assert read(waitForPodsReady={"blockAdmission": True}).pods_ready == PodsReady(blocks=True)
    old = {"enable": True, "blockAdmission": False}
    found = read(apiVersion="config.kueue.x-k8s.io/v1beta1", waitForPodsReady=old).pods_ready
    assert found == PodsReady(timeout=300.0, blocks=False)
    assert "blockAdmission" in wrong(waitForPodsReady={"blockAdmission": "yes"})[0]


def test_retention_of_workloads_and_jobs_without_a_queue_name() -> None:
    assert (read().keep_finished, read().without_queue) == (None, False)
    found = read(objectRetentionPolicies={"workloads": {"afterFinished": "10m"}}, manageJobsWithoutQueueName=True)
    assert (found.keep_finished, found.without_queue) == (600.0, True)


def test_an_invalid_duration_is_reported() -> None:
    assert wrong(waitForPodsReady={"timeout": "soon"}) == [
        'waitForPodsReady.timeout: is "soon"; use a duration such as 90s, 5m or 1h30m'
    ]


SHIPPED = {
    "health": {"healthProbeBindAddress": ":8081"},
    "metrics": {"bindAddress": ":8443"},
    "webhook": {"port": 9443},
    "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
    "controller": {"groupKindConcurrency": {"Job.batch": 5, "Pod": 5}},
    "clientConnection": {"qps": 500, "burst": 1000},
    "integrations": {"frameworks": ["batch/job", "kubeflow.org/mpijob", "ray.io/rayservice", "pod"]},
}
"""The configuration in Kueue's own manifests."""


def warned(**given: Any) -> list[str]:
    root = Field.root({"kind": "Configuration", **given})
    configuration(root)
    assert not root.report.mistakes
    return [str(warning) for warning in root.report.warnings]


def test_the_configuration_that_kueue_ships_is_accepted() -> None:
    found = read(**SHIPPED)
    assert found.health == Address("", 8081)
    assert found.metrics == Address("", 8443)
    assert found.connection == ClientLimits(500.0, 1000)
    assert found.frameworks == frozenset({"batch/job", "kubeflow.org/mpijob", "pod"})
    assert found.election == Election()


def test_fields_without_effect_are_warned_of() -> None:
    assert warned(**SHIPPED) == [
        "webhook: is ignored; it has no effect here",
        "controller: is ignored; it has no effect here",
        "integrations.frameworks[2]: is ray.io/rayservice, which is not supported; jobs of this kind are ignored",
        "leaderElection.resourceName: is Kueue's own Lease, and is not used; Closeknit's Lease has its own name",
    ]


def test_how_a_leader_is_elected() -> None:
    told = {
        "leaderElect": False,
        "resourceName": "mine",
        "resourceNamespace": "here",
        "leaseDuration": "3s",
        "renewDeadline": "2s",
        "retryPeriod": "500ms",
    }
    assert read(leaderElection=told).election == Election(False, "mine", "here", 3.0, 2.0, 0.5)
    assert read().election == Election(True, "closeknit-controller", "", 10.0, 7.0, 2.0)


def test_which_jobs_are_managed() -> None:
    found = read(
        namespace="home",
        managedJobsNamespaceSelector={
            "matchLabels": {"team": "a"},
            "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["test"]}],
        },
        integrations={"labelKeysToCopy": ["example.com/team"]},
    )
    assert found.namespace == "home"
    assert found.namespaces == Selector((Requirement("team", "In", ("a",)), Requirement("tier", "NotIn", ("test",))))
    assert found.copied_labels == ("example.com/team",)
    assert (read().namespaces, read().frameworks) == (None, None)


def test_an_address_of_0_is_none() -> None:
    assert read(metrics={"bindAddress": "0"}).metrics is None
    assert read(health={"healthProbeBindAddress": 0}).health is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"integration": {}}, "integration: is not a known field; did you mean integrations?"),
        (
            {"waitForPodsReady": {"recoveryTimout": "1m"}},
            "waitForPodsReady.recoveryTimout: is not a known field; did you mean recoveryTimeout?",
        ),
        ({"waitForPodsReady": {"enable": True}}, "waitForPodsReady.enable: is not a known field"),
        ({"resources": {"transformations": [{"input": "a", "output": {}}]}}, "did you mean outputs?"),
        ({"integrations": {"frameworks": ["batch/jobs"]}}, "not a known kind of job; did you mean batch/job?"),
        ({"manageJobsWithoutQueueName": "yes"}, 'manageJobsWithoutQueueName: is "yes"; use true or false'),
        ({"managedJobsNamespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}, ".operator: is"),
        ({"health": {"healthProbeBindAddress": "8081"}}, 'is "8081", not an address; use HOST:PORT'),
        ({"clientConnection": {"qps": "fast"}}, 'clientConnection.qps: is "fast"; use a number, 0 or more'),
        ({"leaderElection": {"leaseDuration": "5s"}}, "leaderElection: lasts 5 s, is renewed within 7 s"),
        ({"apiVersion": "config.kueue.x-k8s.io/v1"}, "use one of: config.kueue.x-k8s.io/v1beta2"),
    ],
)
def test_reading_is_strict(given: dict[str, Any], said: str) -> None:
    (mistake,) = wrong(**given)
    assert said in mistake


def test_fields_of_v1beta1_are_known_in_v1beta1() -> None:
    old = "config.kueue.x-k8s.io/v1beta1"
    given = {"waitForPodsReady": {"enable": True}, "integrations": {"podOptions": {"podSelector": {}}}}
    assert read(apiVersion=old, queueVisibility={"updateIntervalSeconds": 5}, **given).pods_ready is not None
