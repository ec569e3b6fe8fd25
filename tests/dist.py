"""Builds the sdist and the wheel, and tries the wheel where nothing else is installed: `make dist`.

The wheel is built from the unpacked sdist, so it also shows that the sdist is complete. It goes into an environment of
its own, and `closeknit up` has to run from there until a job has its places.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

from contract.client import Api
from contract.expect import eventually
from host.process import HostProcess

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PODS = "/api/v1/pods"


def main() -> int:
    wheel = build()
    missing = left_out(wheel)
    if missing:
        print(f"error: {wheel.name} lacks {', '.join(missing)}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        placed = try_out(wheel, Path(folder))
    print(f"{wheel.relative_to(ROOT)}: `closeknit up` serves from it, and placed {placed} pods")
    return 0


def build() -> Path:
    """The wheel of this work tree, by way of its sdist."""
    for old in DIST.glob("closeknit-*"):
        old.unlink()
    run(sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT))
    [_] = DIST.glob("closeknit-*.tar.gz")
    [wheel] = DIST.glob("closeknit-*.whl")
    return wheel


def left_out(wheel: Path) -> list[str]:
    """Files of the package that the wheel does not have: samples and schemas are data, and easily forgotten."""
    source = ROOT / "src"
    files = {str(one.relative_to(source)) for one in source.rglob("*") if one.is_file() and one.suffix != ".pyc"}
    return sorted(files - set(zipfile.ZipFile(wheel).namelist()))


def try_out(wheel: Path, folder: Path) -> int:
    """How many pods have a node, once the first ones do."""
    venv.create(folder / "env", with_pip=False)
    programs = folder / "env" / "bin"
    python = str(programs / "python")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile", str(wheel))
    with HostProcess(
        folder / "data", "--port", "0", "--demo", "first-steps", program=[str(programs / "closeknit")]
    ) as up:
        eventually(lambda: placed(up.api) > 0)
        return placed(up.api)


def placed(api: Api) -> int:
    return sum("nodeName" in pod["spec"] for pod in api.get(PODS).body["items"])


def run(*command: str) -> None:
    """Its output is shown only if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)} failed:\n{done.stdout[-4000:]}")


if __name__ == "__main__":
    sys.exit(main())
