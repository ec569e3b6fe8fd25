"""Standard output and error while a command runs: control characters from objects and files are shown as escapes.

Every output passes here, so no command needs to remember it. Code that moves the cursor or sets colours itself writes
to `unescaped(stream)`.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from ..model.escaping import escaped


class EscapedStream(io.TextIOBase):
    """Has no `buffer`, so that nothing passes it by as bytes."""

    def __init__(self, inner: TextIO) -> None:
        self.inner = inner

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.inner.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self.inner.errors

    def write(self, text: str | bytes) -> int:
        """Write text; bytes, which click writes for shell completion, are text in UTF-8.

        Empty bytes are refused: click probes with them whether a stream is binary, and would wrap it if they passed.
        """
        if not isinstance(text, str | bytes) or text == b"":
            raise TypeError(f"write() takes text, not {type(text).__name__}")
        self.inner.write(escaped(text if isinstance(text, str) else text.decode()))
        return len(text)

    def flush(self) -> None:
        self.inner.flush()

    def fileno(self) -> int:
        return self.inner.fileno()

    def isatty(self) -> bool:
        return self.inner.isatty()

    def writable(self) -> bool:
        return True


def unescaped(stream: TextIO) -> TextIO:
    """The stream itself, for our own control sequences."""
    return stream.inner if isinstance(stream, EscapedStream) else stream


@contextmanager
def escaped_streams() -> Iterator[None]:
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (one and EscapedStream(unescaped(one)) for one in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
