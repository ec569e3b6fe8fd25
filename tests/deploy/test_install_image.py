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
import venv
from pathlib import Path

import pytest

from closeknit import __version__
from closeknit.deploy.objects import InstallOptions, controller

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "deploy/Dockerfile").read_text()
FOLDERS = ("/opt/closeknit", "/wheels", "/src")

needs_hatchling = pytest.mark.skipif(
    importlib.util.find_spec("hatchling") is None,
    reason="SKIPPED, LOUDLY: hatchling builds the wheel and is not installed; pip install hatchling",
)


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
