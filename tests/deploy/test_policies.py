"""The policies by themselves; what a server makes of them is seen in tests/real, and by `corpus.run policies`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from closeknit.deploy.policies import HASH, AdmissionSettings, policies, policies_hash
from closeknit.deploy.policies.marking import only_if, pointer, put_all
from closeknit.dialects.cel import at, given, is_count, label, record, same
from closeknit.model.cluster_queue import Selector
from closeknit.model.gates import Gates
from closeknit.model.shape import Requirement

Raw = dict[str, Any]
USUAL = AdmissionSettings()
NO_TOPOLOGY = Gates.profile().changed({"TopologyAwareScheduling": False})
JOBS_ONLY = AdmissionSettings(frameworks=frozenset({"batch/job"}))
MUTATING, VALIDATING = "MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"
QUEUE, PARENT = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/pod-suspending-parent"


def of(kind: str, settings: AdmissionSettings = USUAL) -> dict[str, Raw]:
    """Policies, or bindings, by name."""
    return {one["metadata"]["name"]: one["spec"] for one in policies(settings) if one["kind"] == kind}


def expressions(spec: Raw) -> str:
    return str([spec.get(key) for key in ("matchConditions", "variables", "mutations", "validations")])


def test_every_kind_of_job_has_a_policy_of_each_sort() -> None:
    jobs = ("jobs", "jobsets", "pods", "deployments", "statefulsets", "leaderworkersets")
    trained = ("mpijobs", "pytorchjobs", "trainjobs", "rayclusters", "rayjobs")
    wanted = {f"closeknit-{one}" for one in (*jobs, *trained)}
    assert wanted <= of(MUTATING).keys()
    assert wanted <= of(VALIDATING).keys()


@pytest.mark.parametrize("kind", [MUTATING, VALIDATING])
def test_every_policy_is_bound_once_and_refuses_what_it_cannot_judge(kind: str) -> None:
    """But for those that need an object of a kind that the server may not know yet."""
    bound = [one["policyName"] for one in of(f"{kind}Binding").values()]
    assert sorted(bound) == sorted(of(kind))
    for name, spec in of(kind).items():
        assert name.startswith("closeknit-")
        assert spec["failurePolicy"] == ("Ignore" if "paramKind" in spec else "Fail")
        assert len(spec["matchConstraints"]["resourceRules"]) >= 1


def test_misspelt_keys_are_warnings_and_everything_else_is_rejected() -> None:
    for name, spec in of(f"{VALIDATING}Binding").items():
        assert spec["validationActions"] == (["Warn"] if name.endswith("-spelling") else ["Deny"]), name
    assert "closeknit-jobs-spelling" in of(VALIDATING)
    assert not [name for name in of(VALIDATING, AdmissionSettings(NO_TOPOLOGY)) if "spelling" in name]


def test_a_mutating_policy_changes_once_and_is_asked_again() -> None:
    for spec in of(MUTATING).values():
        assert spec["reinvocationPolicy"] == "IfNeeded"
        assert [one["patchType"] for one in spec["mutations"]] == ["JSONPatch"]


def test_no_map_is_made_twice() -> None:
    """The second one would be empty again."""
    for name, spec in of(MUTATING).items():
        (mutation,) = spec["mutations"]
        made = re.findall(r'path: ("[^"]+"), value: \{\}', mutation["jsonPatch"]["expression"])
        assert len(made) == len(set(made)), name


def test_no_condition_of_a_mutating_policy_depends_on_what_another_puts_on() -> None:
    """Otherwise it would not be evaluated again in the second round."""
    for spec in of(MUTATING).values():
        told = str(spec.get("matchConditions", ""))
        assert "queue-name" not in told
        assert "priority-class" not in told


def test_a_default_is_looked_up_where_the_object_is_and_need_not_be_there() -> None:
    found = {name: spec for name, spec in of(MUTATING).items() if "paramKind" in spec}
    kinds = {name: spec["paramKind"]["kind"] for name, spec in found.items()}
    assert kinds == {
        **dict.fromkeys(("closeknit-default-queue", "closeknit-pods-default-queue"), "LocalQueue"),
        **dict.fromkeys(("closeknit-default-class", "closeknit-pods-default-class"), "WorkloadPriorityClass"),
        **dict.fromkeys(
            ("closeknit-deployments-default-class", "closeknit-leaderworkersets-default-class"),
            "WorkloadPriorityClass",
        ),
    }
    for name in kinds:
        reference = of(f"{MUTATING}Binding")[name]["paramRef"]
        assert reference == {"name": "default", "parameterNotFoundAction": "Allow"}


def test_a_refusal_begins_with_the_field_that_is_wrong() -> None:
    for spec in of(VALIDATING).values():
        for one in spec["validations"]:
            assert one["reason"] == "Invalid"
            assert "messageExpression" in one or one["message"].partition(": ")[0].startswith(
                ("metadata.", "spec", "status")
            )


def selector(kind: str, settings: AdmissionSettings) -> Any:
    return of(kind, settings)["closeknit-jobs"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]


@pytest.mark.parametrize("kind", [MUTATING, VALIDATING])
def test_namespaces_are_those_of_the_settings(kind: str) -> None:
    (usual,) = selector(kind, USUAL)
    assert (usual["key"], usual["operator"]) == ("kubernetes.io/metadata.name", "NotIn")
    assert {"kube-system", "closeknit-system"} <= set(usual["values"])
    chosen = AdmissionSettings(namespaces=Selector((Requirement("team", "Exists"),)))
    assert selector(kind, chosen) == [{"key": "team", "operator": "Exists"}]


def test_workloads_and_queues_are_judged_everywhere() -> None:
    for name in ("workloads", "workloads-gates", "workloads-status", "clusterqueues"):
        assert "namespaceSelector" not in of(VALIDATING)[f"closeknit-{name}"]["matchConstraints"]


def test_disabled_kinds_have_no_policy_and_hold_no_dependents() -> None:
    for kind in (MUTATING, VALIDATING):
        about = {
            resource
            for name, spec in of(kind, JOBS_ONLY).items()
            if "trust" not in name
            for rule in spec["matchConstraints"]["resourceRules"]
            for resource in rule["resources"]
        }
        assert about <= {"jobs", "workloads", "workloads/status", "clusterqueues"}
    told = expressions(of(MUTATING, JOBS_ONLY)["closeknit-jobs"])
    assert "batch/Job" in told
    assert "JobSet" not in told


def test_pods_of_sets_are_gated_though_other_pods_are_not() -> None:
    sets = AdmissionSettings(frameworks=frozenset({"deployment"}))
    spec = of(MUTATING, sets)["closeknit-pods"]
    assert ": false" in str(spec["matchConditions"])
    assert "closeknit-pods-default-queue" not in of(MUTATING, sets)
    assert "v1/Pod" in expressions(of(MUTATING, sets)["closeknit-deployments"])


def test_all_jobs_are_held_where_that_is_wanted() -> None:
    every = of(MUTATING, replace(USUAL, all_jobs=True))["closeknit-jobs"]
    assert QUEUE not in expressions(every)
    assert QUEUE in expressions(of(MUTATING)["closeknit-jobs"])


@pytest.mark.parametrize(
    ("gate", "kind", "name", "word"),
    [
        ("TopologyAwareScheduling", MUTATING, "pods", "kueue.x-k8s.io/topology"),
        ("TopologyAwareScheduling", MUTATING, "mpijobs", "pod-index-offset"),
        ("TopologyAwareScheduling", MUTATING, "leaderworkersets", "pod-index-offset"),
        ("TopologyAwareScheduling", VALIDATING, "jobs", "podset-required-topology"),
        ("RefuseUnevenSlices", VALIDATING, "jobs", "does not divide the number of pods"),
        ("TASMultiLayerTopology", VALIDATING, "jobs", "JSON list"),
        ("AutoLevel", VALIDATING, "jobs", "auto"),
        ("ReadFormerKeys", VALIDATING, "jobs", "kueue.x-k8s.io/prefer-topology"),
        ("ElasticJobsViaWorkloadSlices", VALIDATING, "jobs", "is not allowed in an elastic job"),
    ],
)
def test_a_gate_that_is_off_takes_its_rule_away(gate: str, kind: str, name: str, word: str) -> None:
    without = AdmissionSettings(gates=Gates(Gates.profile().enabled - {gate}))
    assert word in expressions(of(kind)[f"closeknit-{name}"])
    assert word not in expressions(of(kind, without)[f"closeknit-{name}"])


def test_without_partial_admission_workloads_start_whole() -> None:
    whole = AdmissionSettings(gates=Gates(Gates.profile().enabled - {"PartialAdmission"}))
    assert "closeknit-workloads" not in of(MUTATING)
    assert "minCount" in expressions(of(MUTATING, whole)["closeknit-workloads"])


def test_two_levels_together_are_refused_where_kueue_refuses_them() -> None:
    kueue = AdmissionSettings(gates=Gates.profile("kueue"))
    told = "cannot be combined with kueue.x-k8s.io/podset-required-topology; keep one of them, or enable"
    assert told in expressions(of(VALIDATING, kueue)["closeknit-jobs"])
    assert told not in expressions(of(VALIDATING)["closeknit-jobs"])


def test_one_hash_is_on_all_of_them_and_changes_with_the_settings() -> None:
    marks = {one["metadata"]["annotations"][HASH] for one in policies(USUAL)}
    assert marks == {policies_hash(USUAL)}
    assert policies_hash(USUAL) == policies_hash(AdmissionSettings())
    others = [JOBS_ONLY, replace(USUAL, all_jobs=True), replace(USUAL, gates=Gates.profile("kueue"))]
    assert len({policies_hash(one) for one in (USUAL, *others)}) == 4


def test_a_trial_is_answered_in_every_namespace_whatever_the_frameworks_with_the_hash() -> None:
    none = AdmissionSettings(frameworks=frozenset())
    trial = of(MUTATING, none)["closeknit-trial"]
    assert trial["matchConstraints"]["objectSelector"] == {"matchLabels": {"closeknit.dev/trial": "true"}}
    assert "namespaceSelector" not in trial["matchConstraints"]
    assert policies_hash(none) in expressions(trial)
    assert "dryRun" in str(trial["matchConditions"])


def test_the_controllers_account_may_only_try_a_job_and_others_are_not_concerned() -> None:
    found = {one["metadata"]["name"]: one["spec"] for one in policies(USUAL, "elsewhere") if one["kind"] == VALIDATING}
    trial = found["closeknit-trial"]
    where = trial["matchConstraints"]["namespaceSelector"]
    assert where == {"matchLabels": {"kubernetes.io/metadata.name": "elsewhere"}}
    [condition] = trial["matchConditions"]
    assert '"system:serviceaccount:elsewhere:closeknit-controller"' in condition["expression"]
    [rule] = trial["validations"]
    assert "dryRun" in rule["expression"]


def test_phrases_of_cel() -> None:
    assert at("spec.suspend", "false") == "object.?spec.?suspend.orValue(false)"
    assert given("spec.a", "oldObject") == "oldObject.?spec.?a.hasValue()"
    assert label("a/b") == 'object.metadata.?labels[?"a/b"].orValue("")'
    assert same("spec") == "object.?spec == oldObject.?spec"
    assert record(a="1") == '{"a": dyn(1)}'
    assert is_count("x") == 'x.matches("^0*[1-9][0-9]{0,9}$") && int(x) <= 2147483647'


def test_a_patch_makes_the_map_that_it_adds_to() -> None:
    assert pointer("metadata", "labels", "a/b~c") == "/metadata/labels/a~1b~0c"
    added = put_all(("metadata", "labels"), {"a": '"b"'})
    there = 'type(object[?"metadata"][?"labels"].orValue(0)) == map'
    make = '[JSONPatch{op: "add", path: "/metadata/labels", value: {}}]'
    add = '[JSONPatch{op: "add", path: "/metadata/labels/a", value: "b"}]'
    assert added == f"({there} ? [] : {make}) + {add}"
    assert only_if("c", add) == f"(c ? {add} : [])"


class TestTrust:
    """What the controller decides is written by the controller only."""

    @staticmethod
    def expressions(settings: AdmissionSettings = USUAL, home: str = "closeknit-system") -> dict[str, str]:
        made = [one for one in policies(settings, home) if one["kind"] == VALIDATING]
        found = {one["metadata"]["name"]: one["spec"]["validations"] for one in made}
        return {name: str(checks) for name, checks in found.items() if "trust" in name}

    def test_there_is_one_for_status_for_workloads_that_hold_quota_and_for_gates(self) -> None:
        assert set(self.expressions()) == {
            "closeknit-trust-status",
            "closeknit-trust-workloads",
            "closeknit-trust-gates",
        }

    def test_each_names_the_controllers_account_and_the_trusted_ones(self) -> None:
        trusted = "system:serviceaccount:checks:mine"
        for one in self.expressions(AdmissionSettings(trusted=(trusted,)), "elsewhere").values():
            assert "system:serviceaccount:elsewhere:closeknit-controller" in one
            assert trusted in one

    def test_another_list_of_accounts_gives_another_hash(self) -> None:
        assert policies_hash(AdmissionSettings(trusted=("a",))) != policies_hash(USUAL)

    def test_every_field_of_a_workload_but_active_is_covered(self) -> None:
        one = self.expressions()["closeknit-trust-workloads"]
        assert "priority" in one
        assert "podSets" in one
        assert "spec.?active" not in one
