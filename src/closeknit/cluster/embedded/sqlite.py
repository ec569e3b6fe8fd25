"""The log of the embedded host in one SQLite file: committed changes survive a killed process.

Changes are collected and written as one transaction per commit: every object is a row that holds it whole, so the file
is always the store as of the version in `meta`. Rows keep the order in which objects were created, because the store
does. Free pages are reused and returned, so the file stays as small as its content.

    append ──▶ pending (last state of each object) ──▶ commit: one transaction ──▶ load

The latest decisions are stored next to the objects, in a ring of bounded length.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ...model.mistake import InputError, refuse
from ..kinds import KINDS
from ..port import Change, Key, Raw
from .folder import SamePath
from .store import FolderLostError, NotKeptError, Store

SCHEMA = 1
"""The version of the file format, stored in its `user_version`."""
OURS = 0x436C6B74
"""Marks a state file of Closeknit, in its `application_id`."""
DECISIONS = 10_000
WAL_LIMIT = 4 << 20
PAGE = 8192
SPARE_PAGES = 64
"""This many free pages, plus an eighth of those in use, stay in the file; the rest is returned."""
STEP = 128
"""How many pages are returned at once, which takes 3 ms."""
LAST_STEP = 20_000

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE objects (
    number INTEGER PRIMARY KEY, kind TEXT, namespace TEXT, name TEXT, body BLOB, UNIQUE (kind, namespace, name));
CREATE TABLE decisions (number INTEGER PRIMARY KEY, body BLOB);
INSERT INTO meta VALUES ('version', 1);
"""
_MAKE = "INSERT OR REPLACE INTO objects (kind, namespace, name, body) VALUES (?, ?, ?, ?)"
_KEEP = (
    "INSERT INTO objects (kind, namespace, name, body) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (kind, namespace, name) DO UPDATE SET body = excluded.body"
)
_DROP = "DELETE FROM objects WHERE kind = ? AND namespace = ? AND name = ?"

_MIGRATIONS: dict[int, str] = {}
"""The SQL that migrates a file from this format version to the next."""

_BY_NAME = {kind.resource: kind for kind in KINDS}


class _Pending(NamedTuple):
    """The pending state of a row; `is_new`: it goes to the end, also if the name existed before."""

    body: Raw | None
    is_new: bool


class StoredDecision(NamedTuple):
    number: int
    body: bytes


class SqliteLog:
    """The file of a store. `fsync`: it also survives a power cut, at the price of a disk flush per commit."""

    def __init__(self, path: Path, fsync: bool = False) -> None:
        self.path = path
        self._pending: dict[Key, _Pending] = {}
        self._decisions: list[StoredDecision] = []
        try:
            path.touch(0o600)
            self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._open(fsync)
            self._last = self._one("SELECT COALESCE(MAX(number), 0) FROM decisions")
            self._places = SamePath(path.parent), SamePath(path)
        except (sqlite3.Error, OSError) as error:
            raise self._unreadable(error) from error

    def _open(self, fsync: bool) -> None:
        is_empty = self._one("SELECT COUNT(*) FROM sqlite_master") == 0
        if is_empty:
            self._file.execute(f"PRAGMA page_size = {PAGE}")
            self._file.execute("PRAGMA auto_vacuum = INCREMENTAL")
        elif self._one("PRAGMA application_id") != OURS:
            raise refuse("is not a state file of closeknit", "move it away, or choose another folder", str(self.path))
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT}")
        self._file.execute(f"PRAGMA synchronous = {'FULL' if fsync else 'NORMAL'}")
        if is_empty:
            self._file.executescript(
                f"BEGIN; {_TABLES} PRAGMA application_id = {OURS}; PRAGMA user_version = {SCHEMA}; COMMIT"
            )
        self._migrate()

    def _migrate(self) -> None:
        form = self._one("PRAGMA user_version")
        if form > SCHEMA:
            text = f"written by a newer closeknit: its format is {form}, and this version supports up to {SCHEMA}"
            raise refuse(text, "use that version, or choose another folder", str(self.path))
        while form < SCHEMA:
            self._file.executescript(f"BEGIN; {_MIGRATIONS[form]} PRAGMA user_version = {form + 1}; COMMIT")
            form += 1

    def load(self, store: Store) -> None:
        """Load the objects of the file into the store, in the order of their creation, and set its version.

        Objects of kinds that are no longer served stay in the file.
        """
        try:
            (verdict,) = self._file.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise sqlite3.DatabaseError(verdict)
            rows = self._file.execute("SELECT kind, body FROM objects ORDER BY number")
            for name, body in rows:
                kind = _BY_NAME.get(name)
                if kind is not None:
                    store.restore(kind, msgspec.json.decode(body))
            store.resume(self._one("SELECT value FROM meta WHERE key = 'version'"))
        except (sqlite3.Error, msgspec.DecodeError, UnicodeDecodeError, LookupError, TypeError) as error:
            raise self._unreadable(error) from error

    def append(self, change: Change) -> None:
        key, before = change.key, self._pending.get(change.key)
        if change.type == "MODIFIED":
            self._pending[key] = _Pending(change.object, before is not None and before.is_new)
            return
        if before is not None:
            del self._pending[key]
        is_made = change.type == "ADDED"
        self._pending[key] = _Pending(change.object if is_made else None, is_made)

    def commit(self, version: int) -> None:
        """Write the collected changes; if that fails they stay collected, and the next commit tries again."""
        if not self._pending and not self._decisions:
            return
        self.check_place()
        try:
            self._file.execute("BEGIN IMMEDIATE")
            self._write_objects(version)
            self._write_decisions()
            self._file.execute("COMMIT")
        except sqlite3.Error as error:
            if self._file.in_transaction:
                self._file.execute("ROLLBACK")
            raise NotKeptError(f"{self.path}: changes cannot be written: {error}") from error
        self._pending.clear()
        self._decisions.clear()
        with suppress(sqlite3.Error):
            self._give_back()

    def check_place(self) -> None:
        """Raise if the file or its folder was deleted, replaced or made read-only: writes to it would be lost."""
        for place in self._places:
            if problem := place.problem():
                raise FolderLostError(f"{place.path} {problem} while the host was running")

    def _write_objects(self, version: int) -> None:
        made: list[tuple[Any, ...]] = []
        kept: list[tuple[Any, ...]] = []
        gone: list[tuple[Any, ...]] = []
        for (kind, namespace, name), (body, is_new) in self._pending.items():
            if body is None:
                gone.append((kind.resource, namespace, name))
            else:
                (made if is_new else kept).append((kind.resource, namespace, name, msgspec.json.encode(body)))
        for statement, rows in ((_DROP, gone), (_MAKE, made), (_KEEP, kept)):
            if rows:
                self._file.executemany(statement, rows)
        self._file.execute("UPDATE meta SET value = ? WHERE key = 'version'", (version,))

    def _give_back(self) -> None:
        """Shrink the file by free pages that are not needed soon."""
        free = self._one("PRAGMA freelist_count")
        if free > SPARE_PAGES:
            used = self._one("PRAGMA page_count") - free
            beyond = min(STEP, free - SPARE_PAGES - used // 8)
            if beyond > 0:
                self._file.executescript(f"PRAGMA incremental_vacuum({beyond})")  # execute() takes one page only

    # Decisions

    def decide(self, body: bytes) -> int:
        """Store a decision with the next commit, and drop the oldest beyond the limit."""
        self._last += 1
        self._decisions.append(StoredDecision(self._last, body))
        return self._last

    def decisions(self, since: int = 0) -> list[StoredDecision]:
        """The decisions after a number, oldest first."""
        rows = self._file.execute("SELECT number, body FROM decisions WHERE number > ? ORDER BY number", (since,))
        kept = [StoredDecision(*row) for row in rows]
        return [*kept, *(one for one in self._decisions if one.number > since)][-DECISIONS:]

    def _write_decisions(self) -> None:
        if self._decisions:
            self._file.executemany("INSERT INTO decisions VALUES (?, ?)", self._decisions)
            self._file.execute("DELETE FROM decisions WHERE number <= ?", (self._last - DECISIONS,))

    def close(self) -> None:
        """Close the file. Uncommitted changes are lost, as if the process had been killed."""
        with suppress(sqlite3.Error):
            self._file.executescript(f"PRAGMA incremental_vacuum({LAST_STEP})")
        self._file.close()

    def _one(self, question: str) -> int:
        (answer,) = self._file.execute(question).fetchone()
        return int(answer)

    def _unreadable(self, error: Exception) -> InputError:
        return refuse(f"cannot be read: {error}", "restore a copy, or move it away to start over", str(self.path))
