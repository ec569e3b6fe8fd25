"""Writes and what kube-apiserver 1.36.3 made of them, written down in `test_ownership_seen.json`.

A case is an object, a write by a manager, and either what was different afterwards or the conflict that was answered.
Times, versions and identities are left out; `gone` lists parts of the object that were there before.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from closeknit.cluster.embedded import ownership, patching
from closeknit.cluster.embedded.schema import prune
from closeknit.cluster.errors import Conflict
from closeknit.cluster.kinds import BY_NAME, DEPLOYMENT, Kind

Raw = dict[str, Any]

CASES: list[Raw] = json.loads(Path(__file__).with_suffix(".json").read_text())
KINDS = {kind.kind: kind for kind in BY_NAME.values()}
TIME, NOW = "2026-01-01T00:00:00Z", 1_767_225_600.0


def full(kind: Kind, raw: Raw) -> Raw:
    """The object of a case with what all of them have in common."""
    entries = raw["metadata"].get("managedFields", ())
    common = {"apiVersion": kind.api_version, "time": TIME, "fieldsType": "FieldsV1"}
    meta = {**raw["metadata"], "managedFields": [{**common, **entry} for entry in entries]}
    return {"apiVersion": kind.api_version, "kind": kind.kind, **raw, "metadata": meta}


def after(kind: Kind, case: Raw) -> Raw:
    new = {**case["old"], **{part: value for part, value in case["new"].items() if part != "gone"}}
    return full(kind, {part: value for part, value in new.items() if part not in case["new"].get("gone", ())})


def owners(raw: Raw) -> list[Raw]:
    entries = raw["metadata"].get("managedFields", ())
    plain = [{key: value for key, value in entry.items() if key != "time"} for entry in entries]
    return sorted(plain, key=lambda one: (one["manager"], one["operation"], one.get("subresource", "")))


def content(raw: Raw) -> Raw:
    return {**raw, "metadata": {key: value for key, value in raw["metadata"].items() if key != "managedFields"}}


def named(case: Raw) -> str:
    part = f"-{case['subresource']}" if "subresource" in case else ""
    return f"{case['kind']}{part}-{case['form']}{'-conflict' if 'conflict' in case else ''}"


APPLIES = [case for case in CASES if case["form"] == "apply" and "new" in case]
CONFLICTS = [case for case in CASES if "conflict" in case]
UPDATES = [case for case in CASES if case["form"] != "apply"]
PATCHES = [case for case in UPDATES if case["form"] != "put"]


@pytest.mark.parametrize("case", APPLIES, ids=named)
def test_an_apply_leaves_the_owners_that_a_real_server_lists(case: Raw) -> None:
    kind, part = KINDS[case["kind"]], case.get("subresource", "")
    old = full(kind, case["old"])
    new = ownership.applied(kind, old, case["body"], case["manager"], "force" in case, NOW, part)
    assert owners(new) == owners(after(kind, case))


@pytest.mark.parametrize("case", [case for case in APPLIES if "subresource" not in case], ids=named)
def test_an_apply_leaves_the_object_that_a_real_server_keeps(case: Raw) -> None:
    kind = KINDS[case["kind"]]
    new = ownership.applied(kind, full(kind, case["old"]), case["body"], case["manager"], "force" in case, NOW, "")
    assert content(prune(kind, new)[0]) == content(after(kind, case))


@pytest.mark.parametrize("case", [case for case in APPLIES if "subresource" in case], ids=named)
def test_an_apply_of_the_status_leaves_the_status_that_a_real_server_keeps(case: Raw) -> None:
    kind = KINDS[case["kind"]]
    old = full(kind, case["old"])
    new = ownership.applied(kind, old, case["body"], case["manager"], "force" in case, NOW, "status")
    assert prune(kind, new)[0].get("status", {}) == after(kind, case).get("status", {})
    assert new["spec"] == old["spec"]
    if kind is DEPLOYMENT:
        assert new["metadata"].get("labels") == old["metadata"].get("labels")


@pytest.mark.parametrize("case", CONFLICTS, ids=named)
def test_a_conflict_names_the_managers_and_fields_that_a_real_server_names(case: Raw) -> None:
    kind = KINDS[case["kind"]]
    with pytest.raises(Conflict) as refused:
        ownership.applied(
            kind, full(kind, case["old"]), case["body"], case["manager"], False, NOW, case.get("subresource", "")
        )
    assert sorted([cause.field, cause.message] for cause in refused.value.causes) == case["causes"]
    assert {cause.reason for cause in refused.value.causes} == {"FieldManagerConflict"}
    assert sorted(refused.value.message.splitlines()) == sorted(case["conflict"].splitlines())


@pytest.mark.parametrize("case", PATCHES, ids=named)
def test_a_patch_leaves_the_object_that_a_real_server_keeps(case: Raw) -> None:
    kind = KINDS[case["kind"]]
    new = patching.patched(kind, case["form"], full(kind, case["old"]), case["body"])
    expected = after(kind, case)
    if "subresource" in case:
        assert prune(kind, new)[0].get("status", {}) == expected.get("status", {})
    else:
        assert content(prune(kind, new)[0]) == content(expected)


@pytest.mark.parametrize("case", UPDATES, ids=named)
def test_an_update_leaves_the_owners_that_a_real_server_lists(case: Raw) -> None:
    kind = KINDS[case["kind"]]
    old, expected = full(kind, case["old"]), after(kind, case)
    kept = {**expected, "metadata": {**expected["metadata"], "managedFields": old["metadata"]["managedFields"]}}
    new = ownership.updated(kind, old, kept, case["manager"], NOW, case.get("subresource", ""))
    assert owners(new) == owners(expected)
