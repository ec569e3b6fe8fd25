"""Whatever a client sends is read or refused; nothing breaks."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.cluster.embedded.ownership import applied, created, updated
from closeknit.cluster.embedded.patching import patched
from closeknit.cluster.embedded.schema import check_types, prune, wrong_form
from closeknit.cluster.errors import Refused
from closeknit.cluster.kinds import CONFIG_MAP, DEPLOYMENT, NODE, POD, SECRET, SERVICE, WORKLOAD, Kind
from closeknit.cluster.port import PatchForm

Raw = dict[str, Any]

KEYS = st.sampled_from(
    [
        *("metadata", "spec", "status", "data", "template", "containers", "ports", "env", "name", "labels", "type"),
        *("finalizers", "ownerReferences", "uid", "podSets", "conditions", "limits", "resources", "containerPort"),
        *("$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers", "x"),
    ]
)
SCALARS = st.sampled_from(
    [None, True, 0, 1, -1, 1.5, 2**70, "", "x", "delete", "replace", "1Gi", "2026-01-01T00:00:00Z"]
)
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
BODIES = st.dictionaries(KEYS, TREES, max_size=5)
KINDS = st.sampled_from([POD, DEPLOYMENT, SERVICE, NODE, SECRET, CONFIG_MAP, WORKLOAD])
FORMS: st.SearchStrategy[PatchForm] = st.sampled_from(["merge", "strategic", "json"])
POINTERS = st.sampled_from(["", "/spec", "/spec/containers/0", "/metadata/finalizers/-", "/x/y", "spec", "/spec/~1"])
STEPS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "op": st.sampled_from(["add", "remove", "replace", "copy", "move", "test"]),
            "path": POINTERS,
            "from": POINTERS,
            "value": TREES,
        },
    ),
    max_size=3,
)


def there(kind: Kind) -> Raw:
    """An object as it may be in the store."""
    raw = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": "it", "namespace": "default", "uid": "u", "finalizers": ["x/a"], "labels": {"a": "1"}},
        "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}], "ports": [{"port": 80}]},
    }
    return updated(kind, None, raw, "maker", 0.0, "")


@settings(max_examples=300)
@given(KINDS, BODIES)
def test_an_object_is_kept_or_refused(kind: Kind, body: Raw) -> None:
    before = deepcopy(body)
    kept, unknown = prune(kind, body)
    assert prune(kind, kept) == (kept, [])
    assert len(unknown) == len(set(unknown))
    causes = check_types(kind, kept)
    if causes:
        assert wrong_form(kind, "it", causes).code in (400, 422)
    assert body == before


@settings(max_examples=300)
@given(KINDS, FORMS, TREES | BODIES | STEPS)
def test_a_patch_is_taken_or_refused(kind: Kind, form: PatchForm, body: Any) -> None:
    old = there(kind)
    before = deepcopy((old, body))
    with suppress(Refused):
        new = patched(kind, form, old, body)
        assert new["metadata"]["name"] == "it"
        if not check_types(kind, new):
            updated(kind, old, new, "other", 1.0, "")
    assert (old, body) == before


@settings(max_examples=300)
@given(KINDS, BODIES, st.booleans(), st.sampled_from(["", "status"]))
def test_an_apply_is_taken_or_refused(kind: Kind, body: Raw, force: bool, part: str) -> None:
    old = there(kind)
    before = deepcopy((old, body))
    with suppress(Refused):
        assert applied(kind, old, body, "other", force, 1.0, part)["metadata"]["name"] == "it"
    with suppress(Refused):
        created(kind, body, deepcopy(old), "other", 1.0)
    assert (old, body) == before
