"""The folder in which an embedded host keeps its state, used by one process at a time.

The kernel holds the lock, not a file with a process id: it is released when the process ends, however that happens.
A folder that is deleted, replaced or made read-only while it is used is noticed by looking at it again (`SamePath`):
open files would go on working, and what is written to them would be lost.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from ...model.mistake import InputError, Mistake, refuse

LOCK = "lock"


class FolderInUse(InputError):  # noqa: N818 - shown to the user as it is
    """Another process uses the folder."""


class Folder:
    """A state folder, locked by this process until it is closed; other users cannot read it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if path.stat().st_mode & stat.S_IWOTH:
                text = "every user may write here, so keys and state are not safe"
                raise refuse(text, f"choose a folder of your own, such as {path / 'closeknit'}", str(path))
            self._lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise refuse(f"cannot be used: {error.strerror}", "choose another folder", str(path)) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            remedy = "stop it, or choose another folder"
            raise FolderInUse([Mistake("another process uses this folder", remedy, str(path))]) from error

    def close(self) -> None:
        """Release the lock. Closing twice is harmless."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SamePath:
    """A file or folder as it was when it was opened."""

    def __init__(self, path: Path) -> None:
        self.path, self._at_first = path, path.stat()

    def problem(self) -> str:
        """What happened to it since then; "" if nothing."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return "was deleted"
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        if (found.st_dev, found.st_ino) != (self._at_first.st_dev, self._at_first.st_ino):
            return "was replaced"
        is_writable = found.st_mode & stat.S_IWUSR and os.access(self.path, os.W_OK)
        return "" if is_writable else "is read-only"


def make_private(paths: Iterable[Path]) -> list[Path]:
    """Take away other users' permissions on these files, as far as they exist; returns those that had some."""
    loose = [path for path in paths if path.exists() and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)]
    for path in loose:
        path.chmod(stat.S_IRUSR | stat.S_IWUSR)
    return loose


def write_private(path: Path, content: bytes) -> None:
    """Write a file atomically, readable by its owner only from the first byte on."""
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    new.replace(path)
