"""The commands of the Dockerfile, run as a script: no image can be built here, but what it would hold can.

Paths of the image are folders of the test, and its Python is an environment that can be spoilt. Nothing is downloaded:
dependencies are those that the tests themselves run with.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

from closeknit import __version__
from closeknit.deploy.objects import InstallOptions, controller

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "deploy/Dockerfile").read_text()
LOCKED = "--require-hashes --only-binary=:all:"
FOLDERS = ("/opt/closeknit", "/wheels", "/src")

needs_hatchling = pytest.mark.skipif(
    importlib.util.find_spec("hatchling") is None,
    reason="SKIPPED, LOUDLY: hatchling builds the wheel and is not installed; pip install hatchling",
)


def locked(name: str) -> dict[str, list[str]]:
    """The packages of a lock file as name==version, each with its hashes."""
    packages: dict[str, list[str]] = {}
    for line in (ROOT / "deploy" / name).read_text().splitlines():
        if line.startswith("    --hash=sha256:"):
            packages[list(packages)[-1]].append(line.split(":")[1].removesuffix(" \\"))
        elif not line.startswith("#"):
            packages[line.removesuffix(" \\")] = []
    return packages


BUILD, RESULT = re.split(r"^FROM .*$", DOCKERFILE, flags=re.MULTILINE)[1:]


def instructions(word: str, stage: str) -> list[str]:
    return re.findall(rf"^{word} (.*)$", stage, re.MULTILINE)


class Image:
    """A folder for each of the image's, and a Python for its Python."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.python = folder, folder / "python"
        venv.create(self.python, with_pip=True)
        packages = sysconfig.get_path("purelib", vars={"base": str(self.python), "platbase": str(self.python)})
        self.tools = Path(packages) / "hatchling.pth"
        self.tools.write_text(sysconfig.get_path("purelib"))
        shutil.copytree(ROOT / "src", self.path("/src") / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, self.path("/src"))

    def path(self, inside: str) -> Path:
        return self.folder / inside.lstrip("/")

    def run(self, command: str) -> str:
        for one in FOLDERS:
            command = command.replace(one, str(self.path(one)))
        offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
        quiet = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PATH": f"{self.python / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["sh", "-euc", command],
            cwd=self.path("/src"),
            env={**os.environ, **offline, **quiet},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    image = Image(tmp_path_factory.mktemp("image"))
    for command in instructions("RUN", BUILD):
        if LOCKED not in command:  # that would be a download
            image.run(command)
    image.tools.unlink()
    for command in instructions("RUN", RESULT):
        image.run(command)
    return image


def installed(image: Image) -> Path:
    [packages] = image.path("/opt/closeknit").glob("lib/python*/site-packages")
    return packages


@needs_hatchling
def test_the_image_runs_closeknit_from_a_wheel_of_this_tree(image: Image) -> None:
    (installed(image) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    assert image.run("/opt/closeknit/bin/closeknit --version").strip() == f"closeknit, version {__version__}"
    where = image.run("/opt/closeknit/bin/python -c 'import closeknit; print(closeknit.__file__)'")
    assert Path(where.strip()).is_relative_to(installed(image))
    assert "--health-address" in image.run("/opt/closeknit/bin/closeknit controller --help")


@needs_hatchling
def test_no_build_tool_is_left_in_it(image: Image) -> None:
    assert sorted(one.name for one in installed(image).iterdir() if one.suffix != ".pth") == [
        "closeknit",
        f"closeknit-{__version__}.dist-info",
    ]
    gone = subprocess.run([image.python / "bin/python", "-m", "pip", "--version"], capture_output=True, text=True)
    assert "No module named pip" in gone.stderr


def test_it_runs_as_the_deployments_user_what_the_deployment_starts() -> None:
    pod = next(one for one in controller(InstallOptions()) if one["kind"] == "Deployment")["spec"]["template"]["spec"]
    context = pod["securityContext"]
    assert instructions("USER", RESULT) == [f"{context['runAsUser']}:{context['runAsGroup']}"]
    assert instructions("ENTRYPOINT", RESULT) == [f'["{pod["containers"][0]["command"][0]}"]']
    assert instructions("COPY", RESULT) == ["--from=build /opt/closeknit /opt/closeknit"]
    assert instructions("ENV", RESULT)[0].startswith("PATH=/opt/closeknit/bin:")


@pytest.mark.parametrize("name", ["requirements.lock", "build.lock"])
def test_every_package_of_a_lock_file_has_a_version_and_hashes(name: str) -> None:
    for package, hashes in locked(name).items():
        assert re.fullmatch(r"[a-z0-9._-]+==[0-9][^ ]*", package)
        assert hashes
        assert all(re.fullmatch("[0-9a-f]{64}", one) for one in hashes)


def test_every_dependency_is_locked_at_no_less_than_its_lower_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for name, wanted in (
        ("requirements.lock", project["project"]["dependencies"]),
        ("build.lock", project["build-system"]["requires"]),
    ):
        versions = dict(re.sub("[-_.]+", "-", one).split("==", 1) for one in map(_dashed, locked(name)))
        for requirement in wanted:
            package, _, least = requirement.partition(">=")
            assert package in versions, f"{package} is not in deploy/{name}: run `make lock`"
            assert _parts(versions[package].replace("-", ".")) >= _parts(least or "0")


def _dashed(package: str) -> str:
    return package.replace("_", "-").lower()


def _parts(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def test_the_image_installs_nothing_from_an_index_that_is_not_locked() -> None:
    for command in instructions("RUN", BUILD):
        if " install " in command or " wheel " in command:
            assert LOCKED in command or "--no-deps" in command, command


def test_both_stages_start_from_the_base_image_that_make_image_passes() -> None:
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${BASE}", "${BASE}"]
    lines = (ROOT / "deploy/base-image").read_text().splitlines()
    [base] = [line for line in lines if not line.startswith("#")]
    assert re.fullmatch(r"python:[0-9.]+-slim(@sha256:[0-9a-f]{64})?", base)
    assert f"ARG BASE={base.partition('@')[0]}\n" in DOCKERFILE
