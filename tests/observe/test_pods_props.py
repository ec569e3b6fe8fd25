"""Random pods read the same from JSON and from YAML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from closeknit.model.mistake import InputError
from closeknit.model.node import Node
from closeknit.observe.pods import read_pods
from closeknit.state.table import NodeTable

TABLE = NodeTable.of([Node(name, {}, {}) for name in ("a", "b-1", "10.0.0.7", "5", "yes")])
SCRIPT = "set -e\n    nodeName: x\n  phase: Failed\n- kind: Pod\nspec:\n  nodeName: b-1\n"


def maps(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Mappings with some of the fields."""
    return st.fixed_dictionaries({}, optional=fields)


def some(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


texts = some("a", "5", "yes", "null", "it's", 'say "x"', "a: b", "a #b", " a", "*", "&x", "", "ä", SCRIPT, "w " * 60)
quantities = some("1", "500m", "2", "1Gi", "1.5", 1, 2, 0.5) | some("1", "x", "-1", True, None, "1 m", "5\n")
amounts = st.dictionaries(some("cpu", "memory", "nvidia.com/gpu"), quantities, max_size=2) | some({}, None)
needs = maps(requests=amounts, limits=amounts) | some({}, None)
env = st.lists(maps(name=texts, value=texts), max_size=2)
containers = st.lists(
    maps(name=texts, args=st.lists(texts, max_size=2), env=env, resources=needs, restartPolicy=some("Always", None)),
    max_size=2,
)
metadata = maps(
    name=some("p", "5", "p.q-0", "1e3", "0x1", "null") | texts,
    namespace=some("team", "on", "~", None),
    labels=st.dictionaries(texts, texts | some(5, True, None), max_size=2) | some({}, None),
    annotations=st.dictionaries(texts, texts, max_size=2),
    ownerReferences=st.lists(maps(kind=some("DaemonSet", "Node", "Job", None), name=texts), max_size=2),
)
spec = maps(
    nodeName=some("a", "b-1", "10.0.0.7", "5", "yes", "elsewhere", "", None),
    containers=containers,
    initContainers=containers | st.none(),
    overhead=amounts,
    resources=needs,
    nodeSelector=st.dictionaries(texts, texts | some(5), max_size=1),
    tolerations=st.lists(maps(key=texts, operator=some("Exists")), max_size=1),
)
status = maps(phase=some("Running", "Failed", "Succeeded", None, 5), message=texts, podIP=some("10.0.0.9", None))
pods = maps(metadata=metadata | st.none(), spec=spec, status=status | some({}, None)).map(
    lambda one: {"apiVersion": "v1", "kind": "Pod", **one}
)


def outcome(path: Path) -> Any:
    """The result, or the mistakes."""
    try:
        read = read_pods([str(path)], TABLE)
    except InputError as error:
        return str(error).replace(str(path), "FILE")
    columns = [{name: column.tolist() for name, column in one.items()} for one in (read.used, read.pinned)]
    return columns, read.counted, read.skipped, read.elsewhere, [str(one) for one in read.warnings]


@given(st.lists(st.tuples(pods, st.integers(1, 3)), max_size=4), st.booleans())
def test_yaml_is_read_as_json_is(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[dict[str, Any], int]], unicode: bool
) -> None:
    listed = {"apiVersion": "v1", "items": [one for one, times in drawn for _ in range(times)], "kind": "List"}
    listed = json.loads(json.dumps(listed, sort_keys=True))  # and nothing is shared, so that YAML needs no anchors
    folder = tmp_path_factory.mktemp("pods")
    as_json, as_yaml = folder / "pods.json", folder / "pods.yaml"
    as_json.write_text(json.dumps(listed))
    as_yaml.write_text(yaml.safe_dump(listed, default_flow_style=False, sort_keys=True, allow_unicode=unicode))
    assert outcome(as_yaml) == outcome(as_json)
