"""The contract of the conformance runner: what it prints, and the code with which it ends."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from conformance.run import main

RUN = Path(__file__).with_name("run.py")
PREFIX, BUILDER = "assignment_encoding_prefix", "topology_request_builder"
BLOCK = {"kueue.x-k8s.io/podset-required-topology": "block"}


def encoded(name: str | None, count: int = 2) -> dict[str, Any]:
    """Passes with a count of 2."""
    internal = {"Levels": ["kubernetes.io/hostname"], "Domains": [{"Values": ["a-1"], "Count": count}]}
    one = {"domainCount": 1, "valuesPerLevel": [{"universal": "a-1"}], "podCounts": {"universal": 2}}
    want = {"levels": ["kubernetes.io/hostname"], "slices": [one]}
    return {"name": name, "internal": internal, "want": want}


def built(name: str, required: str = "block") -> dict[str, Any]:
    """Passes as it is."""
    return {"name": name, "meta": {"annotations": BLOCK}, "wantReq": {"required": required}}


def write(folder: Path, suite: str, name: str, content: Any) -> Path:
    """Write a list as one case per line if the suffix says so; text is written as it is."""
    path = folder / suite / name
    path.parent.mkdir(exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    if "ndjson" in name and isinstance(content, list):
        text = "".join(json.dumps(one) + "\n" for one in content)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def run(*args: str | Path) -> tuple[int, list[str], str]:
    """Exit code, lines and errors of a run in this process, with streams like those of a program."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main([*map(str, args)])
        except SystemExit as end:
            code = int(end.code or 0)
    return code, written(out).splitlines(), written(err)


def written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def run_program(*args: str | Path) -> tuple[int, list[str], str]:
    done = subprocess.run([sys.executable, RUN, *map(str, args)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


def run_json(*args: str | Path) -> tuple[int, dict[str, Any]]:
    code, lines, errors = run(*args, "--json")
    assert (len(lines), errors) == (1, "")
    said = json.loads(lines[0])
    assert list(said) == ["suites"]
    suites: dict[str, Any] = said["suites"]
    return code, suites


@pytest.mark.parametrize("name", ["a.json", "a.ndjson", "a.ndjson.gz"])
def test_a_file_of_any_form_is_a_line_for_its_suite_and_a_last_line_for_all(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, PREFIX, name, [encoded("one"), encoded("two")])
    assert run(path) == (0, [f"{PREFIX}: 2 passed, 0 failed, 0 not run", "2 passed, 0 failed"], "")


def test_a_json_file_may_hold_a_single_case(tmp_path: Path) -> None:
    assert run(write(tmp_path, BUILDER, "a.json", built("one")))[:2] == (
        0,
        [f"{BUILDER}: 1 passed, 0 failed, 0 not run", "1 passed, 0 failed"],
    )


def test_a_folder_is_searched_to_its_depth_and_other_files_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, PREFIX, "a.ndjson", [encoded("one")])
    write(tmp_path, PREFIX, "b.json", [encoded("two")])
    write(tmp_path, PREFIX, "README.md", "no case")
    write(tmp_path, BUILDER, "a.ndjson.gz", [built("one")])
    assert run(tmp_path)[:2] == (
        0,
        [
            f"{PREFIX}: 2 passed, 0 failed, 0 not run",
            f"{BUILDER}: 1 passed, 0 failed, 0 not run",
            "3 passed, 0 failed",
        ],
    )


def test_a_failure_is_named_below_its_suite_and_the_code_is_1(tmp_path: Path) -> None:
    path = write(tmp_path, BUILDER, "a.ndjson", [built("right"), built("wrong", "rack")])
    assert (
        run(path)
        == run_program(path)
        == (
            1,
            [
                f"{BUILDER}: 1 passed, 1 failed, 0 not run",
                "  wrong: .required: want 'rack', got 'block'",
                "1 passed, 1 failed",
            ],
            "",
        )
    )


def test_an_unknown_suite_is_not_run_and_alone_it_exits_with_2(tmp_path: Path) -> None:
    unknown = write(tmp_path, "riddles", "a.ndjson", '{"name": "one"}\nnot JSON\n[]\n')
    assert run(unknown)[:2] == (2, ["riddles: 0 passed, 0 failed, 3 not run", "0 passed, 0 failed"])
    known = write(tmp_path, BUILDER, "a.json", built("one"))
    assert run(unknown, known)[:2] == (
        0,
        [
            "riddles: 0 passed, 0 failed, 3 not run",
            f"{BUILDER}: 1 passed, 0 failed, 0 not run",
            "1 passed, 0 failed",
        ],
    )


def test_an_empty_folder_runs_nothing(tmp_path: Path) -> None:
    assert run(tmp_path) == (2, ["0 passed, 0 failed"], "")


def test_a_path_that_is_not_there_is_wrong_use(tmp_path: Path) -> None:
    code, lines, errors = run(tmp_path / "nowhere")
    assert (code, lines) == (2, [])
    assert "no such file or folder" in errors


def test_the_suite_of_every_file_can_be_given(tmp_path: Path) -> None:
    paths = [write(tmp_path, "mine", "a.json", built("one")), write(tmp_path, PREFIX, "b.json", built("two"))]
    assert run(*paths, "--suite", BUILDER)[:2] == (
        0,
        [f"{BUILDER}: 2 passed, 0 failed, 0 not run", "2 passed, 0 failed"],
    )


def test_json_is_one_object_with_names_of_failures_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, BUILDER, "a.ndjson", [built("right"), built("wrong", "rack")])
    write(tmp_path, "riddles", "a.json", {})
    nothing = {"us_warm": None, "us_cold": None}
    assert run_json(tmp_path) == (
        1,
        {
            "riddles": {"passed": 0, "failed": [], "not_run": 1, **nothing},
            BUILDER: {"passed": 1, "failed": ["wrong"], "not_run": 0, **nothing},
        },
    )


def test_two_failures_of_one_name_are_two(tmp_path: Path) -> None:
    paths = [write(tmp_path, PREFIX, name, [encoded("same", 3), encoded("same")]) for name in ("a.json", "b.ndjson")]
    code, lines, _ = run(*paths)
    assert (code, lines[0], lines[-1]) == (1, f"{PREFIX}: 2 passed, 2 failed, 0 not run", "2 passed, 2 failed")
    assert [line.partition(":")[0] for line in lines[1:-1]] == ["  same", "  same"]
    assert run_json(*paths)[1][PREFIX]["failed"] == ["same", "same"]


def test_a_case_without_a_name_is_called_by_its_file_and_line(tmp_path: Path) -> None:
    unnamed = json.dumps(encoded(None, 3))
    lines = write(tmp_path, PREFIX, "a.ndjson", f"\n{json.dumps(encoded('one'))}\n\n{unnamed}\n")
    listed = write(tmp_path, PREFIX, "b.json", f"[\n{json.dumps(encoded('one'))},\n\n  {unnamed}, {unnamed}\n]")
    single = write(tmp_path, PREFIX, "c.json", f"\n{unnamed}")
    assert run_json(lines, listed, single)[1][PREFIX]["failed"] == ["a.ndjson:4", "b.json:4", "b.json:4", "c.json:2"]


def test_lines_that_are_no_case_fail_by_themselves(tmp_path: Path) -> None:
    text = f'{json.dumps(encoded("one"))}\n{{"name": \n[1]\n"text"\n\n{json.dumps(encoded("two"))}\n'
    path = write(tmp_path, PREFIX, "a.ndjson", text)
    code, lines, errors = run(path)
    assert (code, errors) == (1, "")
    assert lines[0] == f"{PREFIX}: 2 passed, 3 failed, 0 not run"
    assert lines[1].startswith("  a.ndjson:2: JSONDecodeError: Expecting value")
    assert lines[2:] == [
        "  a.ndjson:3: a case is a JSON object, but this is [1]",
        '  a.ndjson:4: a case is a JSON object, but this is "text"',
        "2 passed, 3 failed",
    ]
    assert run_json(path)[1][PREFIX]["failed"] == ["a.ndjson:2", "a.ndjson:3", "a.ndjson:4"]


@pytest.mark.parametrize(
    ("name", "content", "label"),
    [
        ("a.json", b'[\n{"name": "one"},\n{"name"}\n]', "a.json:3"),
        ("a.json", b"", "a.json:1"),
        ("a.json", b"\n5", "a.json:2"),
        ("a.json", b"[\n\nnull]", "a.json:3"),
        ("a.json", b"[" * 100_000, "a.json:1"),
        ("a.json", b'"\xff"', "a.json:1"),
        ("a.ndjson", b'\n"\xff"', "a.ndjson:2"),
        ("a.ndjson.gz", b"not compressed", "a.ndjson.gz:1"),
        ("a.ndjson.gz", gzip.compress(b'{"name": "one"}', mtime=0)[:-9], "a.ndjson.gz:1"),
    ],
)
def test_what_cannot_be_read_is_one_failed_case_and_not_the_end(
    tmp_path: Path, name: str, content: bytes, label: str
) -> None:
    bad = tmp_path / PREFIX / name
    bad.parent.mkdir()
    bad.write_bytes(content)
    good = write(tmp_path, PREFIX, "good.json", encoded("one"))
    code, suites = run_json(bad, good)
    assert (code, suites[PREFIX]["passed"], suites[PREFIX]["failed"]) == (1, 1, [label])
    code, lines, errors = run(bad, good)
    assert (code, errors, len(lines)) == (1, "", 3)
    assert lines[1].startswith(f"  {label}: ")


def test_a_case_that_crashes_fails_with_the_reason_on_one_line(tmp_path: Path) -> None:
    crash = {"name": "two\nlines \ud800", "internal": 5}
    code, lines, errors = run(write(tmp_path, PREFIX, "a.json", crash))
    assert (code, errors, len(lines)) == (1, "", 3)
    assert lines[1].startswith("  two lines \\ud800: AttributeError: ")


def test_times_stand_on_a_line_of_their_own(tmp_path: Path) -> None:
    path = write(tmp_path, BUILDER, "a.ndjson", [built("right"), built("wrong", "rack")])
    code, lines, _ = run(path, "--time")
    assert (code, lines[0], lines[-1]) == (1, f"{BUILDER}: 1 passed, 1 failed, 0 not run", "1 passed, 1 failed")
    warm, us, *words = lines[1].split()
    assert (lines[1][:2], float(warm) > 0, us, words[0]) == ("  ", True, "us", "warm,")
    assert " us cold, mean per decision" in lines[1]


def test_times_are_means_over_the_cases_of_a_suite(tmp_path: Path) -> None:
    few = write(tmp_path, BUILDER, "few.ndjson", [built("one")] * 20)
    many = write(tmp_path, BUILDER, "many.ndjson", [built("one")] * 2000)
    means = [run_json(path, "--time")[1][BUILDER] for path in (few, many)]
    assert 0 < means[1]["us_warm"] < 20 * means[0]["us_warm"]  # a sum would be a hundred times as much
    assert means[1]["us_warm"] <= means[1]["us_cold"]


def test_help_says_what_the_times_are() -> None:
    code, lines, _ = run("--help")
    assert code == 0
    assert "the mean microseconds per decision over the suite's cases" in " ".join(" ".join(lines).split())
