"""Writes the lock files of the image: every package that it installs, with the hashes of its wheels.

    deploy/requirements.lock   what runs in the image
    deploy/build.lock          what builds the wheel of Closeknit

pip resolves for the image's Python on both architectures, and its report has the hash of each wheel. `make lock` renews
them; nothing but an index of packages is needed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PYTHON = "3.13"
ARCHITECTURES = ("x86_64", "aarch64")
PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text())
LOCKS = {
    "requirements.lock": PROJECT["project"]["dependencies"],
    "build.lock": PROJECT["build-system"]["requires"],
}
HEAD = "# Written by `make lock`; do not edit. For Python {python} on {architectures}.\n"


def main() -> None:
    for name, wanted in LOCKS.items():
        (HERE / name).write_text(locked(wanted))
        print(f"deploy/{name} written")


def locked(wanted: list[str]) -> str:
    found: dict[str, set[str]] = {}
    for architecture in ARCHITECTURES:
        for one in resolved(wanted, architecture)["install"]:
            meta = one["metadata"]
            digest = one["download_info"]["archive_info"]["hashes"]["sha256"]
            found.setdefault(f"{meta['name'].lower()}=={meta['version']}", set()).add(digest)
    lines = [
        " \\\n".join([package, *(f"    --hash=sha256:{digest}" for digest in sorted(digests))])
        for package, digests in sorted(found.items())
    ]
    return "\n".join([HEAD.format(python=PYTHON, architectures=" and ".join(ARCHITECTURES)).rstrip(), *lines, ""])


def resolved(wanted: list[str], architecture: str) -> dict[str, Any]:
    platforms = [f"--platform={one}_{architecture}" for one in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")]
    where = ["--dry-run", "--ignore-installed", "--target=unused", "--only-binary=:all:", "--quiet", "--report=-"]
    command = [sys.executable, "-m", "pip", "install", *where, f"--python-version={PYTHON}", *platforms, *wanted]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


if __name__ == "__main__":
    main()
