"""Tokens that expire: files that are rewritten, and one more attempt after a 401."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from closeknit.cluster.errors import Unauthorized
from closeknit.cluster.kinds import NODE
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.credentials import Identity, TokenFile
from closeknit.cluster.kube.unreachable import NoCredentials
from cluster.kube.scripted import scripted, status

SERVER = "https://server"


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def token(credentials: TokenFile) -> str:
    return asyncio.run(credentials.current()).token


def written_quietly(file: Path, text: str) -> None:
    """Write the file so that only its content shows that it has changed."""
    before = file.stat()
    file.write_text(text)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_token_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    credentials = TokenFile(str(file), SERVER, Clock())
    assert token(credentials) == "first"
    file.write_text("second\n")
    assert token(credentials) == "second"


def test_a_token_file_that_seems_the_same_is_read_again_after_a_minute(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", Clock()
    file.write_text("first")
    credentials = TokenFile(str(file), SERVER, clock)
    assert token(credentials) == "first"
    written_quietly(file, "other")
    clock.seconds = 59
    assert token(credentials) == "first"
    clock.seconds = 60
    assert token(credentials) == "other"


def test_a_token_that_was_refused_is_read_again_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    credentials = TokenFile(str(file), SERVER, Clock())
    refused = asyncio.run(credentials.current())
    assert asyncio.run(credentials.renewed(refused)) is False
    written_quietly(file, "other")
    assert asyncio.run(credentials.renewed(refused)) is True
    assert token(credentials) == "other"


def test_while_a_token_file_is_away_the_last_token_is_used_on(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    credentials = TokenFile(str(file), SERVER, Clock())
    assert token(credentials) == "first"
    file.unlink()
    assert token(credentials) == "first"


@pytest.mark.parametrize(("text", "why"), [(None, "cannot be read: No such file or directory"), (" \n", "is empty")])
def test_a_token_file_that_never_held_one_is_named(tmp_path: Path, text: str | None, why: str) -> None:
    file = tmp_path / "token"
    if text is not None:
        file.write_text(text)
    with pytest.raises(NoCredentials, match=f"{SERVER}: the token file {file} {why}"):
        token(TokenFile(str(file), SERVER))


def test_an_identity_shows_nothing_of_itself() -> None:
    assert "secret" not in repr(Identity("secret", "secret", "secret"))


@pytest.mark.parametrize("is_written", [True, False])
def test_a_request_that_is_unauthorized_is_sent_once_more_with_a_newer_token(tmp_path: Path, is_written: bool) -> None:
    """The token was changed on the server, and in the file too; or not, and the 401 stands."""
    file, shown = tmp_path / "token", list[str]()
    file.write_text("old")

    async def answer(request: web.Request) -> web.StreamResponse:
        shown.append(request.headers["Authorization"])
        if shown[-1] == "Bearer new":
            return web.json_response({"kind": "Node"})
        if is_written:
            file.write_text("new")
        return web.json_response(status(401, "Unauthorized", "no"), status=401)

    async def run() -> None:
        async with scripted(answer) as other, Client(replace(other.config, token_file=str(file))) as client:
            await client.get(NODE, "", "n")

    if is_written:
        asyncio.run(run())
        assert shown == ["Bearer old", "Bearer new"]
    else:
        with pytest.raises(Unauthorized):
            asyncio.run(run())
        assert shown == ["Bearer old"]
