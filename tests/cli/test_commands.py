"""The commands as a user calls them: arguments in, text and exit code out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from closeknit.cli.main import COMMANDS, main
from closeknit.model.encoding import decode

SAMPLES = Path(str(files("closeknit") / "samples"))
NODES = ["--nodes", str(SAMPLES / "datacentre.yaml")]
BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"
TRAIN, SLICED, PRETRAIN = (str(SAMPLES / f"{name}.yaml") for name in ("train", "sliced", "pretrain"))


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*args: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main(list(args))
        captured = capsys.readouterr()
        return Ran(int(ended.value.code or 0), captured.out, captured.err)

    return call


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(run: Run, name: str) -> None:
    ran = run(name, "--help")
    assert ran.code == 0
    assert "Usage: closeknit" in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_teaches_by_an_example(run: Run, name: str) -> None:
    lines = [line.strip() for line in run(name, "--help").out.splitlines()[1:]]
    assert any(f"closeknit {name}" in line and "`" not in line for line in lines)


@pytest.mark.parametrize(("typed", "meant"), [("gte", "get"), ("decribe", "describe"), ("quue", "queue")])
def test_swapped_letters_still_find_the_command(run: Run, typed: str, meant: str) -> None:
    assert run(typed).err == f'Error: no command "{typed}"; did you mean {meant}?\n'


def test_a_mistyped_command_is_answered_with_the_nearest(run: Run) -> None:
    ran = run("plase", TRAIN)
    assert (ran.code, ran.err) == (2, 'Error: no command "plase"; did you mean place?\n')


def test_place_shows_where_pods_go(run: Run) -> None:
    ran = run("place", TRAIN, *NODES)
    assert ran.code == 0
    assert "Job train-24 · main: 24 pods on 5 domains, all in b04/b04-r04" in ran.out
    assert "--levels" in ran.err, "suggested levels are reported on stderr"


def test_place_as_json_has_the_whole_plan(run: Run) -> None:
    plan = json.loads(run("place", TRAIN, *NODES, "-o", "json").out)
    (pod_set,) = plan["podSets"]
    assert (plan["fits"], plan["reason"], pod_set["count"], pod_set["level"]) == (True, None, 24, RACK)
    assert sum(domain["pods"] for domain in pod_set["domains"]) == 24
    assert all(domain["path"][:2] == ["b04", "b04-r04"] for domain in pod_set["domains"])
    assert [entry["rank"] for entry in pod_set["ranks"]] == list(range(24))
    slots = [path[-1] for path in decode(pod_set["assignment"]).slots()]
    assert [entry["node"] for entry in pod_set["ranks"]] == slots
    assert plan["left"]["pods"] == {"main": 437}


def test_yaml_says_what_json_says(run: Run) -> None:
    as_json = json.loads(run("place", TRAIN, *NODES, "-o", "json").out)
    assert yaml.safe_load(run("place", TRAIN, *NODES, "-o", "yaml").out) == as_json


def test_several_jobs_are_placed_beside_each_other(run: Run) -> None:
    first, second = json.loads(run("place", TRAIN, TRAIN, *NODES, "-o", "json").out)
    hosts = [{d["path"][-1] for d in plan["podSets"][0]["domains"]} for plan in (first, second)]
    assert hosts[0] != hosts[1]


def test_a_job_that_does_not_fit_gives_the_reason_and_exit_code_3(run: Run) -> None:
    ran = run("place", PRETRAIN, *NODES)
    assert ran.code == 3
    assert "allows to fit only 39 out of 48 pod(s)" in ran.out
    assert "closeknit explain" in ran.err
    answer = json.loads(run("place", PRETRAIN, *NODES, "-o", "json").out)
    assert (answer["fits"], answer["podSets"][0]["assignment"]) == (False, None)


def test_a_host_file_lists_slots_in_rank_order(run: Run) -> None:
    lines = run("place", TRAIN, *NODES, "-o", "hostfile").out.splitlines()
    assert lines[:2] == ["b04-r04-n03 slots=5", "b04-r04-n04 slots=6"]
    assert sum(int(line.split("slots=")[1]) for line in lines) == 24


def test_a_rank_file_counts_slots_per_node(run: Run) -> None:
    lines = run("place", TRAIN, *NODES, "-o", "rankfile").out.splitlines()
    assert lines[:2] == ["rank 0=b04-r04-n03 slot=0", "rank 1=b04-r04-n03 slot=1"]
    assert lines[5] == "rank 5=b04-r04-n04 slot=0"
    assert len(lines) == 24


def test_torchrun_gets_its_nodes(run: Run) -> None:
    lines = run("place", TRAIN, *NODES, "-o", "torchrun").out.splitlines()
    assert lines[:3] == ["NNODES=5", "MASTER_ADDR=b04-r04-n03", "0 b04-r04-n03"]


def test_a_launcher_file_needs_hosts(run: Run) -> None:
    ran = run("place", TRAIN, *NODES, "--levels", f"{BLOCK},{RACK}", "-o", "hostfile")
    assert ran.code == 2
    assert "use levels that end with kubernetes.io/hostname" in ran.err


def test_slices_stay_on_one_host(run: Run) -> None:
    plan = json.loads(run("place", SLICED, *NODES, "-o", "json").out)
    assert {domain["pods"] for domain in plan["podSets"][0]["domains"]} == {8}


def test_explain_names_levels_and_remedies(run: Run) -> None:
    ran = run("explain", PRETRAIN, *NODES)
    assert ran.code == 0
    assert f"{RACK}   0 of 16 hold 48; b01/b01-r03 holds the most: 39" in ran.out
    assert f'* relax to required "{BLOCK}"' in ran.out
    assert "* ask for 39 pods instead of 48" in ran.out


def test_explain_as_json_has_the_numbers(run: Run) -> None:
    answer = json.loads(run("explain", PRETRAIN, *NODES, "-o", "json").out)
    assert [level["holding"] for level in answer["levels"]] == [4, 0, 0]
    assert [remedy["kind"] for remedy in answer["remedies"]] == ["relax", "fewer", "free", "add"]


def test_explain_says_when_a_job_fits(run: Run) -> None:
    ran = run("explain", TRAIN, *NODES)
    assert (ran.code, ran.out) == (0, "Job train-24 fits; `closeknit place` with the same arguments shows where\n")


def test_the_tree_goes_down_to_the_level_asked_for(run: Run) -> None:
    lines = run("tree", *NODES, "--level", "rack").out.splitlines()
    assert len(lines) == 4 + 16
    assert lines[1].startswith("├─ b01-r01  8 nodes")
    assert lines[1].endswith("21 of 64 nvidia.com/gpu free")


def test_the_tree_as_json_adds_up(run: Run) -> None:
    tree = json.loads(run("tree", *NODES, "-o", "json").out)
    for block in tree["domains"]:
        racks = block["domains"]
        for resource, numbers in block["resources"].items():
            assert numbers["used"] == sum(rack["resources"][resource]["used"] for rack in racks)
            assert numbers["allocatable"] == numbers["used"] + numbers["free"]
        assert block["nodes"] == sum(len(rack["domains"]) for rack in racks)


def test_the_tree_refuses_a_resource_or_level_that_is_not_there(run: Run) -> None:
    assert "did you mean nvidia.com/gpu?" in run("tree", *NODES, "--resource", "nvidia.com/gpus").err
    assert run("tree", *NODES, "--level", "row").code == 2


@pytest.mark.parametrize("command", [("tree",), ("place", TRAIN)])
def test_pictures_are_svg_with_a_cell_for_every_node(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    file = tmp_path / "picture.svg"
    assert run(*command, *NODES, "--svg", str(file)).code == 0
    root = ElementTree.parse(file).getroot()
    titles = root.findall(".//{http://www.w3.org/2000/svg}title")
    assert len(titles) == 128
    ours = [title for title in titles if "pods of Job train-24" in (title.text or "")]
    assert len(ours) == (5 if command[0] == "place" else 0)


def test_an_unknown_gate_is_refused_with_the_nearest_name(run: Run) -> None:
    ran = run("place", TRAIN, *NODES, "--feature-gates", "AutoLevle=true")
    assert ran.code == 2
    assert "did you mean AutoLevel?" in ran.err


def test_the_kueue_profile_switches_ours_off(run: Run, tmp_path: Path) -> None:
    manifest = Path(TRAIN).read_text().replace(f"required-topology: {RACK}", "required-topology: auto")
    (tmp_path / "auto.yaml").write_text(manifest)
    assert run("place", str(tmp_path / "auto.yaml"), *NODES).code == 0
    ran = run("place", str(tmp_path / "auto.yaml"), *NODES, "--profile", "kueue")
    assert ran.code == 2
    assert "no requested topology level: auto" in ran.err


def test_gates_are_listed_with_defaults(run: Run) -> None:
    gates = {gate["name"]: gate for gate in json.loads(run("gates", "-o", "json").out)}
    assert gates["FilterAtEveryLevel"]["default"] is True
    assert gates["TASBalancedPlacement"]["owner"] == "kueue"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(run: Run, shell: str) -> None:
    assert "_CLOSEKNIT_COMPLETE" in run("completion", shell).out


def test_the_demo_runs_every_step_and_says_how_to_go_on(run: Run) -> None:
    ran = run("demo", "--no-pause")
    assert ran.code == 0
    assert "[10/10]" in ran.out
    assert "Job team-a/urgent is admitted" in ran.out
    assert "kubectl get nodes -o json > nodes.json" in ran.out


def test_the_plan_does_not_depend_on_how_nodes_were_given(run: Run, tmp_path: Path) -> None:
    """Nodes as kubectl prints them give the same plan as the compact form."""
    small = {"racks": 2, "nodesPerRack": 3, "node": {"cpu": 4, "memory": "8Gi", "pods": 10}}
    (tmp_path / "pools.yaml").write_text(yaml.safe_dump(small))
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"b01-r0{rack}-n0{node}",
                "labels": {BLOCK: "b01", RACK: f"b01-r0{rack}", "kubernetes.io/hostname": f"b01-r0{rack}-n0{node}"},
            },
            "status": {
                "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for rack in (2, 1)
        for node in (3, 1, 2)
    ]
    (tmp_path / "nodes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
    job = Path(TRAIN).read_text().replace("nvidia.com/gpu: 1", "ephemeral-storage: 0").replace("24", "2")
    (tmp_path / "job.yaml").write_text(job.replace('cpu: "8", memory: 64Gi', 'cpu: "2", memory: 1Gi'))
    plans = [
        run("place", str(tmp_path / "job.yaml"), "--nodes", str(tmp_path / name), "-o", "json").out
        for name in ("pools.yaml", "nodes.json")
    ]
    assert json.loads(plans[0])["podSets"] == json.loads(plans[1])["podSets"]
    assert json.loads(plans[0])["fits"] is True


def test_a_launcher_file_is_for_one_job(run: Run) -> None:
    ran = run("place", TRAIN, TRAIN, *NODES, "-o", "rankfile")
    assert ran.code == 2
    assert "a rankfile is for one job, but 2 were given" in ran.err


def test_an_mpi_launcher_has_no_rank_unless_it_works(run: Run, tmp_path: Path) -> None:
    def replica(count: int) -> dict[str, object]:
        container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
        return {"replicas": count, "template": {"spec": {"containers": [container]}}}

    specs = {"Launcher": replica(1), "Worker": replica(3)}
    for works, ranks in ((False, 3), (True, 4)):
        manifest = {
            "apiVersion": "kubeflow.org/v2beta1",
            "kind": "MPIJob",
            "metadata": {"name": "mpi"},
            "spec": {"runLauncherAsWorker": works, "mpiReplicaSpecs": specs},
        }
        (tmp_path / "mpi.yaml").write_text(yaml.safe_dump(manifest))
        assert len(run("place", str(tmp_path / "mpi.yaml"), *NODES, "-o", "rankfile").out.splitlines()) == ranks


def test_answers_name_the_job_they_are_about(run: Run) -> None:
    for command, manifest in (("place", TRAIN), ("explain", PRETRAIN)):
        job = json.loads(run(command, manifest, *NODES, "-o", "json").out)["job"]
        assert (job["kind"], job["file"]) == ("Job", manifest)


def test_an_unwritable_file_is_reported_with_its_path(run: Run, tmp_path: Path) -> None:
    ran = run("tree", *NODES, "--svg", str(tmp_path / "no" / "x.svg"))
    assert ran.code == 2
    assert "no/x.svg: No such file or directory; check the path" in ran.err


def closeknit(*args: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    program = "import sys; from closeknit.cli.main import main; sys.argv[0] = 'closeknit'; main()"
    return subprocess.run([sys.executable, "-c", program, *args], capture_output=True, timeout=60, **options)


def test_a_terminal_without_these_characters_gets_plain_ones() -> None:
    ran = closeknit("tree", *NODES, "--level", "rack", env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert ran.returncode == 0
    assert b"|- b01-r01  8 nodes                 ===========....." in ran.stdout


def test_a_reader_that_stops_reading_is_not_an_error() -> None:
    program = f"{sys.executable} -c 'from closeknit.cli.main import main; main()'"
    command = f"{program} gates | head -1"
    ran = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60)
    assert ran.stdout.startswith(b"GATE")
    assert ran.stderr == b""


def test_the_demo_ends_on_request() -> None:
    ran = closeknit("demo", "--pause", input=b"q\n")
    assert ran.returncode == 0
    assert b"[1/10]" in ran.stdout
    assert b"[2/10]" not in ran.stdout
