"""Addresses to listen on."""

from __future__ import annotations

import pytest

from closeknit.model.address import Address, address


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8081", "127.0.0.1", 8081),
        (":8081", "", 8081),
        ("[::1]:0", "::1", 0),
        ("localhost:1", "localhost", 1),
    ],
)
def test_it_is_a_host_and_a_port_and_is_written_as_it_was_read(text: str, host: str, port: int) -> None:
    assert address(text) == Address(host, port)
    assert str(address(text)) == text


@pytest.mark.parametrize("text", ["", "8081", "host:", "host:http", "::1:80", ":65536", "a b:1", ":-1", ":１"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        address(text)
