"""The log in SQLite: what comes back, in which order, after which end."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from stat import S_IMODE
from typing import Any

import pytest

from closeknit.cluster.embedded.ids import RandomIds
from closeknit.cluster.embedded.sqlite import DECISIONS, SqliteLog
from closeknit.cluster.embedded.store import FolderLostError, NotKeptError, Store
from closeknit.cluster.kinds import CONFIG_MAP, JOB, NAMESPACE, POD, Kind
from closeknit.cluster.port import Key
from closeknit.model.mistake import InputError

WRITER = """
import os, signal, sys
from pathlib import Path
from closeknit.cluster.embedded.ids import RandomIds
from closeknit.cluster.embedded.sqlite import SqliteLog
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.kinds import CONFIG_MAP, NAMESPACE
log = SqliteLog(Path(sys.argv[1]))
store = Store(lambda: 1.0, RandomIds(1), log=log)
store.create(NAMESPACE, {"metadata": {"name": "default"}})
for number in range(100):
    store.create(CONFIG_MAP, {"metadata": {"name": f"c{number}"}})
    if number == 69:
        print(store.commit(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def opened(path: Path) -> tuple[Store, SqliteLog]:
    log = SqliteLog(path)
    store = Store(lambda: 1_800_000_000.0, RandomIds(1), log=log)
    log.load(store)
    return store, log


def begun(path: Path) -> tuple[Store, SqliteLog]:
    store, log = opened(path)
    store.create(NAMESPACE, {"metadata": {"name": "default"}})
    return store, log


def config_map(store: Store, name: str, **data: str) -> dict[str, Any]:
    return store.create(CONFIG_MAP, {"metadata": {"name": name}, "data": data})


def names(store: Store, kind: Kind = CONFIG_MAP) -> list[str]:
    return [one["metadata"]["name"] for one in store.all(kind)]


def test_objects_come_back_as_they_were(tmp_path: Path) -> None:
    store, log = begun(tmp_path / "state")
    config_map(store, "a", text="ä\u0000😀")
    job = store.create(JOB, {"metadata": {"name": "j"}, "spec": {"parallelism": 2, "x": [1.5, None, {}]}})
    store.patch(Key(JOB, "default", "j"), {"metadata": {"labels": {"k": "v"}}})
    store.commit()
    log.close()
    again, _ = opened(tmp_path / "state")
    assert again.objects == store.objects
    assert again.get(JOB, "default", "j")["metadata"]["uid"] == job["metadata"]["uid"]


def test_versions_go_on_from_where_they_ended(tmp_path: Path) -> None:
    store, log = begun(tmp_path / "state")
    config_map(store, "a")
    assert store.commit() == 3
    log.close()
    again, _ = opened(tmp_path / "state")
    assert again.version == 3
    assert config_map(again, "b")["metadata"]["resourceVersion"] == "4"


def test_owners_are_known_again(tmp_path: Path) -> None:
    store, log = begun(tmp_path / "state")
    owner = config_map(store, "owner")["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    store.create(POD, {"metadata": {"name": "p", "ownerReferences": [reference]}, "spec": {}})
    store.commit()
    log.close()
    again, _ = opened(tmp_path / "state")
    assert [one["metadata"]["name"] for one in again.owned(owner["uid"])] == ["p"]


def test_objects_keep_the_order_in_which_they_were_made(tmp_path: Path) -> None:
    store, log = begun(tmp_path / "state")
    for name in ("c", "a", "d", "b"):
        config_map(store, name)
    store.commit()
    store.patch(Key(CONFIG_MAP, "default", "c"), {"data": {"k": "v"}})
    store.delete(Key(CONFIG_MAP, "default", "a"))
    config_map(store, "a")
    store.commit()
    store.delete(Key(CONFIG_MAP, "default", "d"))
    store.commit()
    config_map(store, "d")
    store.commit()
    log.close()
    again, _ = opened(tmp_path / "state")
    assert names(again) == names(store) == ["c", "b", "a", "d"]


def test_an_object_made_and_deleted_in_one_commit_is_not_there(tmp_path: Path) -> None:
    store, log = begun(tmp_path / "state")
    config_map(store, "a")
    store.delete(Key(CONFIG_MAP, "default", "a"))
    store.commit()
    log.close()
    again, _ = opened(tmp_path / "state")
    assert (names(again), again.version) == ([], 4)


def test_an_object_made_and_changed_in_one_commit_is_there_as_changed(tmp_path: Path) -> None:
    store, log = begun(tmp_path / "state")
    config_map(store, "a")
    store.patch(Key(CONFIG_MAP, "default", "a"), {"data": {"k": "v"}})
    store.commit()
    log.close()
    again, _ = opened(tmp_path / "state")
    assert again.get(CONFIG_MAP, "default", "a")["data"] == {"k": "v"}


def test_committed_changes_survive_a_kill_and_nothing_else_does(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "state")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (-signal.SIGKILL, "72\n"), ended.stderr
    again, _ = opened(tmp_path / "state")
    assert names(again) == [f"c{number}" for number in range(70)]
    assert again.version == 72


def test_a_second_run_of_the_same_load_leaves_the_file_no_larger(tmp_path: Path) -> None:
    sizes = []
    for _ in range(3):
        store, log = opened(tmp_path / "state")
        if not names(store, NAMESPACE):
            store.create(NAMESPACE, {"metadata": {"name": "default"}})
        for number in range(1500):
            config_map(store, f"c{number}", text="x" * (number % 7 * 900))
            if number % 10 == 0:
                store.commit()
            if number >= 200:
                store.delete(Key(CONFIG_MAP, "default", f"c{number - 200}"))
        for name in names(store):
            store.delete(Key(CONFIG_MAP, "default", name))
        store.commit()
        log.close()
        sizes.append(sum(one.stat().st_size for one in tmp_path.iterdir()))
    assert sizes[2] <= sizes[1] <= sizes[0] < 200_000


def test_the_write_ahead_log_stays_small(tmp_path: Path) -> None:
    store, _ = begun(tmp_path / "state")
    for number in range(3000):
        config_map(store, f"c{number}", text="x" * 5000)
        store.commit()
    assert (tmp_path / "state-wal").stat().st_size <= 10 << 20


def test_the_space_of_deleted_objects_is_given_back_while_running(tmp_path: Path) -> None:
    store, _ = begun(tmp_path / "state")
    for number in range(2000):
        config_map(store, f"c{number}", text="x" * 5000)
    store.commit()
    for number in range(2000):
        store.delete(Key(CONFIG_MAP, "default", f"c{number}"))
        if number % 20 == 0:
            store.commit()
    store.commit()
    looking = sqlite3.connect(tmp_path / "state")
    pages = looking.execute("PRAGMA page_count").fetchone()[0]
    looking.close()
    assert pages * 8192 < 2_000_000


def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    store, _ = begun(tmp_path / "state")
    store.commit()
    assert {S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()} == {0o600}


def test_a_folder_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        SqliteLog(tmp_path / "nowhere" / "state")


def test_a_change_of_an_object_that_was_there_before_the_log_is_kept(tmp_path: Path) -> None:
    store = Store(lambda: 1.0, RandomIds(1))
    store.create(NAMESPACE, {"metadata": {"name": "default"}})
    config_map(store, "a")
    store.log = log = SqliteLog(tmp_path / "state")
    store.patch(Key(CONFIG_MAP, "default", "a"), {"data": {"k": "v"}})
    store.commit()
    log.close()
    again, _ = opened(tmp_path / "state")
    assert again.get(CONFIG_MAP, "default", "a")["data"] == {"k": "v"}


@pytest.mark.parametrize("content", [b"This is no database, but a letter to a friend." * 100, b"\x00" * 5000])
def test_a_file_that_is_not_a_database_is_rejected_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(InputError) as refused:
        opened(tmp_path / "state")
    assert str(refused.value).startswith(f"{tmp_path / 'state'}: cannot be read: ")
    assert str(refused.value).endswith("; restore a copy, or move it away to start over")
    assert (tmp_path / "state").read_bytes() == content


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    store, log = begun(tmp_path / "state")
    for number in range(200):
        config_map(store, f"c{number}", text="x" * 2000)
    store.commit()
    log.close()
    content = bytearray((tmp_path / "state").read_bytes())
    content[8192 * 4 : 8192 * 9] = b"\xa5" * (8192 * 5)
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(InputError, match="move it away to start over"):
        opened(tmp_path / "state")


def test_a_database_of_another_program_is_rejected_and_left_as_it_is(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "state")
    other.execute("CREATE TABLE recipes (name)")
    other.close()
    before = (tmp_path / "state").read_bytes()
    with pytest.raises(InputError, match="is not a state file of closeknit; move it away, or choose another folder"):
        opened(tmp_path / "state")
    assert (tmp_path / "state").read_bytes() == before


def test_a_file_of_a_newer_format_is_rejected(tmp_path: Path) -> None:
    _, log = begun(tmp_path / "state")
    log.close()
    later = sqlite3.connect(tmp_path / "state")
    later.execute("PRAGMA user_version = 7")
    later.close()
    with pytest.raises(InputError) as refused:
        opened(tmp_path / "state")
    assert str(refused.value) == (
        f"{tmp_path / 'state'}: written by a newer closeknit: its format is 7, and this version supports up to 1; "
        "use that version, or choose another folder"
    )


def test_a_commit_that_fails_is_made_up_for_by_the_next(tmp_path: Path) -> None:
    store, log = begun(tmp_path / "state")
    store.commit()
    config_map(store, "a")
    blocking = sqlite3.connect(tmp_path / "state", isolation_level=None)
    log._file.execute("PRAGMA busy_timeout = 10")
    blocking.execute("BEGIN IMMEDIATE")
    with pytest.raises(NotKeptError, match="changes cannot be written: database is locked"):
        store.commit()
    blocking.execute("ROLLBACK")
    blocking.close()
    assert store.commit() == 3
    log.close()
    again, _ = opened(tmp_path / "state")
    assert names(again) == ["a"]


def test_decisions_are_read_from_a_number_on(tmp_path: Path) -> None:
    store, log = begun(tmp_path / "state")
    assert [log.decide(body) for body in (b"{}", b"[1]", b"[2]")] == [1, 2, 3]
    store.commit()
    assert log.decide(b"[3]") == 4
    assert log.decisions(since=2) == [(3, b"[2]"), (4, b"[3]")]


def test_decisions_survive_and_their_numbers_go_on(tmp_path: Path) -> None:
    _, log = begun(tmp_path / "state")
    log.decide(b"1")
    log.commit(2)
    log.decide(b"never written")
    log.close()
    _, again = opened(tmp_path / "state")
    assert again.decisions() == [(1, b"1")]
    assert again.decide(b"2") == 2


def test_only_the_last_ten_thousand_decisions_are_kept(tmp_path: Path) -> None:
    _, log = begun(tmp_path / "state")
    for number in range(DECISIONS + 5):
        log.decide(b"%d" % number)
    assert len(log.decisions()) == 10_000
    log.commit(2)
    kept = log.decisions()
    assert (len(kept), kept[0], kept[-1]) == (10_000, (6, b"5"), (10_005, b"10004"))


@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_commit_is_refused_once_the_file_or_its_folder_is_gone(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    store, log = begun(folder / "state")
    store.commit()
    config_map(store, "a")
    (folder / "state").rename(tmp_path / "moved") if what == "file" else folder.rename(tmp_path / "moved")
    with pytest.raises(FolderLostError, match="was deleted while the host was running"):
        store.commit()
    log.close()
