"""The state folder: used by one process at a time, and private to its user."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from stat import S_IMODE

import pytest

from closeknit.cluster.embedded.folder import Folder, SamePath, make_private, write_private
from closeknit.model.mistake import InputError

HOLDER = """
import sys, time
from pathlib import Path
from closeknit.cluster.embedded.folder import Folder
folder = Folder(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_a_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    with Folder(tmp_path / "a" / "b"):
        assert S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


def test_a_folder_in_use_is_refused_by_name_and_with_a_remedy(tmp_path: Path) -> None:
    with Folder(tmp_path), pytest.raises(InputError) as refused:
        Folder(tmp_path)
    assert str(refused.value) == f"{tmp_path}: another process uses this folder; stop it, or choose another folder"


def test_a_closed_folder_can_be_used_again(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.close()
    folder.close()
    Folder(tmp_path).close()


def test_a_killed_process_leaves_no_lock_behind(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError):
            Folder(tmp_path)
        holder.kill()
    Folder(tmp_path).close()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="choose another folder"):
        Folder(tmp_path / "file")


def test_a_private_file_is_replaced_whole_and_unreadable_to_others(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("old and readable")
    write_private(path, b"new")
    assert path.read_bytes() == b"new"
    assert S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["secret"]


def test_a_folder_that_every_user_may_write_to_is_refused_with_another_to_choose(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with pytest.raises(InputError) as refused:
        Folder(tmp_path)
    assert str(refused.value).endswith(f"; choose a folder of your own, such as {tmp_path / 'closeknit'}")
    assert list(tmp_path.iterdir()) == []


def test_what_happens_to_a_folder_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    same = SamePath(path)
    assert same.problem() == ""
    path.chmod(0o500)
    assert same.problem() == "is read-only"
    path.chmod(0o700)
    assert same.problem() == ""
    path.rename(tmp_path / "elsewhere")
    assert same.problem() == "was deleted"
    path.mkdir()
    assert same.problem() == "was replaced"


def test_permissions_of_other_users_are_taken_away(tmp_path: Path) -> None:
    loose, tight, missing = (tmp_path / name for name in ("loose", "tight", "missing"))
    loose.touch(0o644)
    loose.chmod(0o640)
    tight.touch(0o600)
    assert make_private([loose, tight, missing]) == [loose]
    assert S_IMODE(loose.stat().st_mode) == 0o600
    assert make_private([loose, tight, missing]) == []
