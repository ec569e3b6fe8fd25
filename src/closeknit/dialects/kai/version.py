"""The versions of KAI's objects: each kind has one that is read."""

from __future__ import annotations

from ..field import Field


def check_version(thing: Field, version: str) -> None:
    given = thing.at("apiVersion")
    if given.text() != version:
        given.wrong(f'is "{given.text()}", which is not read', f"use {version}")
