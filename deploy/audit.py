"""Checks what the image installs for known vulnerabilities, with pip-audit.

It needs an index of packages, from which pip-audit is installed, and PyPI's database of vulnerabilities. An index of
one's own often lacks the latter; pip-audit then skips every package and succeeds. So packages that were not looked up
are counted here: none looked up is no success, and is said loudly.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDER = HERE.parent / ".venv/audit-tool"
SKIPPED = "SKIPPED, LOUDLY: "
NO_INDEX = f"{SKIPPED}no index of packages is reachable, so pip-audit cannot be installed"


def main() -> int:
    if not is_installed():
        print(NO_INDEX)
        return 0
    lock = HERE / "requirements.lock"
    command = [FOLDER / "bin/pip-audit", "--require-hashes", "--disable-pip", "--format=json", "--requirement", lock]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if not done.stdout:
        print(f"{SKIPPED}pip-audit failed: {(done.stderr.splitlines() or ['no output'])[-1]}")
        return 0
    said, code = verdict(json.loads(done.stdout)["dependencies"])
    print(said)
    return code


def is_installed() -> bool:
    if not (FOLDER / "bin/pip-audit").exists():
        venv.create(FOLDER, with_pip=True, clear=True)
        pip = [FOLDER / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pip-audit"]
        return subprocess.run(pip, timeout=300).returncode == 0
    return True


def verdict(packages: list[dict[str, Any]]) -> tuple[str, int]:
    """What to say about the packages, and the exit code: 1 if one is vulnerable, or if only some were looked up."""
    unknown = [one["name"] for one in packages if "skip_reason" in one]
    if len(unknown) == len(packages):
        return f"{SKIPPED}the database of vulnerabilities knows none of {len(packages)} packages; is PyPI reachable?", 0
    found = [
        f"{one['name']} {one['version']}: {each['id']}, fixed in {', '.join(each['fix_versions']) or 'no version'}"
        for one in packages
        for each in one.get("vulns", ())
    ]
    if unknown:
        found.append(f"not looked up: {', '.join(unknown)}")
    return "\n".join(found) or f"{len(packages)} packages, no known vulnerability", int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
