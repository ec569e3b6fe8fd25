"""Objects, nodes and durations on the command line."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from closeknit.cli.domains import nodes_meant
from closeknit.cli.durations import seconds
from closeknit.cli.naming import Meant, Named, is_manifest, kind_named, meant, objects_named
from closeknit.cluster import kinds
from closeknit.cluster.port import Raw
from closeknit.model.mistake import InputError


@pytest.mark.parametrize("name", ["Job", "job", "jobs", "jobs.batch", "JOB", "job.batch"])
def test_a_kind_goes_by_any_of_its_names(name: str) -> None:
    assert kind_named(name) is kinds.JOB


@pytest.mark.parametrize(
    ("short", "kind"), [("wl", kinds.WORKLOAD), ("cq", kinds.CLUSTER_QUEUE), ("queue", kinds.LOCAL_QUEUE)]
)
def test_short_names_are_known(short: str, kind: kinds.Kind) -> None:
    assert kind_named(short) is kind


def test_an_unknown_kind_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r'unknown kind "worklods"; did you mean workloads\?'):
        kind_named("worklods")


def test_objects_are_named_by_kind_and_names_or_one_by_one() -> None:
    job, pod = kinds.JOB, kinds.POD
    assert objects_named(["jobs"]) == [Named(job)]
    assert objects_named(["jobs,po"]) == [Named(job), Named(pod)]
    assert objects_named(["job", "a", "b"]) == [Named(job, "a"), Named(job, "b")]
    assert objects_named(["job/a", "pod/b"]) == [Named(job, "a"), Named(pod, "b")]
    with pytest.raises(InputError, match='"a" does not name an object; write KIND NAME'):
        objects_named(["job/b", "a"])


def test_a_word_before_the_slash_is_a_kind_or_else_a_namespace() -> None:
    assert meant("train", "default") == Meant(None, "default", "train")
    assert meant("job/train", "default") == Meant(kinds.JOB, "default", "train")
    assert meant("team-a/train", "default") == Meant(None, "team-a", "train")


def test_what_exists_or_ends_like_a_manifest_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert [word for word in ("-", "job.yaml", "x.json", "folder", "train", "job/train") if is_manifest(word)] == [
        "-",
        "job.yaml",
        "x.json",
        "folder",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90s", 90.0), ("10m", 600.0), ("1h30m", 5400.0), ("2d", 172800.0), ("5", 5.0), ("1.5s", 1.5)],
)
def test_durations(text: str, expected: float) -> None:
    command = click.Command("x", params=[])
    assert seconds(click.Context(command), click.Option(["--x"]), text) == expected


@pytest.mark.parametrize("text", ["", "soon", "10 m", "m", "-5s", "5mm"])
def test_an_invalid_duration_is_rejected_with_an_example(text: str) -> None:
    with pytest.raises(click.BadParameter, match="write one such as 90s, 10m or 1h30m"):
        seconds(click.Context(click.Command("x")), click.Option(["--x"]), text)


# Nodes

LEVELS = ("block", "rack", "host")


def node(name: str, block: str, rack: str) -> Raw:
    return {"metadata": {"name": name, "labels": {"block": block, "rack": rack, "host": name, "pool": "a"}}}


NODES = [node("n1", "b1", "r1"), node("n2", "b1", "r2"), node("n3", "b2", "r1"), node("n4", "b2", "r3")]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["n2"], ["n2"]),
        (["b1"], ["n1", "n2"]),
        (["r3"], ["n4"]),
        (["b2/r1"], ["n3"]),
        (["rack=r1"], ["n1", "n3"]),
        (["pool=a", "n1"], ["n1", "n2", "n3", "n4"]),
    ],
)
def test_nodes_are_meant_by_name_by_domain_or_by_label(words: list[str], expected: list[str]) -> None:
    assert nodes_meant(words, NODES, [LEVELS]) == expected


def test_a_value_that_two_racks_have_is_refused_with_both() -> None:
    with pytest.raises(InputError, match="r1: matches more than one domain: b1/r1 and b2/r1; give the full path"):
        nodes_meant(["r1"], NODES, [LEVELS])


def test_topologies_that_share_a_level_do_not_make_it_ambiguous() -> None:
    assert nodes_meant(["r3"], NODES, [LEVELS, ("rack", "host")]) == ["n4"]


def test_unknown_nodes_are_reported_together_with_the_nearest() -> None:
    with pytest.raises(InputError) as error:
        nodes_meant(["r33", "rack=r9"], NODES, [LEVELS])
    first, second = map(str, error.value.mistakes)
    assert first == (
        "r33: is neither a node nor a topology domain; did you mean r3? "
        "`closeknit tree` shows the domains; KEY=VALUE selects nodes by any label"
    )
    assert second == "rack=r9: no node has this label; `closeknit get nodes -o yaml` shows the labels of all nodes"
