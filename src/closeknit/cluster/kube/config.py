"""Kubeconfig: which server, whom it trusts, who we are.

Files are read the way kubectl reads them: of several, the first that names a cluster, user or context counts, and
paths in a file are relative to it. What is not supported is refused, never passed over: a proxy or another user that
is silently left out would send requests where they do not belong.
"""

from __future__ import annotations

import ssl
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from ...model.mistake import InputError, refuse
from ...model.nearest import did_you_mean

DEFAULT_NAMESPACE = "default"
REFUSED_OF_CLUSTER = ("proxy-url",)
REFUSED_OF_USER = ("exec", "auth-provider", "username", "password", "as", "as-groups", "as-uid", "as-user-extra")


class Config(NamedTuple):
    """Certificates and keys are PEM texts. `token_file` is read again with every request: tokens are renewed.

    `source` is the file, or files, that this is from.
    """

    server: str
    token: str = ""
    token_file: str = ""
    authority: str = ""
    certificate: str = ""
    key: str = ""
    server_name: str = ""
    verify: bool = True
    namespace: str = DEFAULT_NAMESPACE
    context: str = ""
    source: str = ""

    def bearer(self) -> str:
        """The token to send; empty if there is none."""
        return Path(self.token_file).read_text().strip() if self.token_file else self.token

    def tls(self) -> ssl.SSLContext | None:
        """For the client's side of a connection; None where there is nothing to secure."""
        if urlsplit(self.server).scheme != "https":
            return None
        context = ssl.create_default_context(cadata=self.authority or None)
        if not self.verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if self.certificate:
            with TemporaryDirectory() as folder:
                file = Path(folder) / "client.pem"
                file.touch(0o600)
                file.write_text(f"{self.certificate}\n{self.key}")
                context.load_cert_chain(file)
        return context


def read_config(files: Sequence[Path], context: str = "") -> Config:
    """What the current context of these files says, or the one that is named."""
    source = ", ".join(map(str, files))
    present = [(file, _parsed(file)) for file in files if file.exists() or len(files) == 1]
    name = context or next((str(tree["current-context"]) for _, tree in present if tree.get("current-context")), "")
    if not name:
        known = ", ".join(one.name for file, tree in present for one in _entries(file, tree, "contexts"))
        raise refuse("names no current context", f"choose one by --context: {known}", source)
    chosen = _find(present, "contexts", name, source)
    cluster = _find(present, "clusters", chosen.text("cluster"), source)
    user = (
        _find(present, "users", chosen.text("user"), source) if chosen.text("user") else _Entry(Path(), "user", "", {})
    )
    cluster.refuse_all(REFUSED_OF_CLUSTER)
    user.refuse_all(REFUSED_OF_USER)
    return Config(
        server=cluster.address("server"),
        token=user.text("token"),
        token_file="" if user.text("token") else user.path("tokenFile"),
        authority=cluster.pem("certificate-authority"),
        certificate=user.pem("client-certificate"),
        key=user.pem("client-key"),
        server_name=cluster.text("tls-server-name"),
        verify=not cluster.fields.get("insecure-skip-tls-verify"),
        namespace=chosen.text("namespace") or DEFAULT_NAMESPACE,
        context=name,
        source=source,
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """One named cluster, user or context, and the file that it is from."""

    file: Path
    kind: str
    name: str
    fields: dict[str, Any]

    def text(self, field: str) -> str:
        return str(self.fields.get(field) or "")

    def path(self, field: str) -> str:
        """A path is relative to its file."""
        return str(self.file.parent / self.text(field)) if self.text(field) else ""

    def pem(self, field: str) -> str:
        """What is written here, else what is in the file that is named here."""
        data = self.text(f"{field}-data")
        try:
            if data:
                return b64decode(data, validate=True).decode()
            return Path(self.path(field)).read_text() if self.text(field) else ""
        except OSError as error:
            raise self.wrong(field, f"{self.path(field)} cannot be read: {error.strerror}", "mend the path") from None
        except ValueError:
            raise self.wrong(f"{field}-data", "is not the Base64 of a PEM text", "write it again") from None

    def address(self, field: str) -> str:
        url = urlsplit(self.text(field))
        if url.scheme not in ("https", "http") or not url.hostname:
            raise self.wrong(field, f'"{self.text(field)}" is no address', "write one such as https://10.0.0.1:6443")
        return self.text(field).rstrip("/")

    def refuse_all(self, fields: Sequence[str]) -> None:
        for field in fields:
            if self.fields.get(field):
                remedy = "use an entry without it; a user may have a token or a client certificate"
                raise self.wrong(field, "is not supported", remedy)

    def wrong(self, field: str, text: str, remedy: str) -> InputError:
        return refuse(text, remedy, str(self.file), f"{self.kind} {self.name}", field)


def _parsed(file: Path) -> dict[str, Any]:
    """JSON, as we write it ourselves, is read without loading a YAML library."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise refuse(f"cannot be read: {error.strerror}", "give the path of a kubeconfig", str(file)) from None
    try:
        tree = msgspec.json.decode(data)
    except msgspec.DecodeError:
        import yaml

        try:
            tree = yaml.safe_load(data)
        except yaml.YAMLError as error:
            said = str(error).replace("\n", " ")
            raise refuse(f"is no kubeconfig: {said}", "give another file", str(file)) from None
    if not isinstance(tree, dict):
        raise refuse("is no kubeconfig", "give another file", str(file))
    return tree


def _entries(file: Path, tree: dict[str, Any], kind: str) -> Iterator[_Entry]:
    singular = kind.removesuffix("s")
    for one in tree.get(kind) or ():
        if not isinstance(one, dict) or not isinstance(one.get(singular) or {}, dict):
            raise refuse("has an entry that is not of the right form", "mend it", str(file), field=kind)
        yield _Entry(file, singular, str(one.get("name", "")), one.get(singular) or {})


def _find(trees: Sequence[tuple[Path, dict[str, Any]]], kind: str, name: str, source: str) -> _Entry:
    entries = [one for file, tree in trees for one in _entries(file, tree, kind)]
    found = next((one for one in entries if one.name == name), None)
    if found is None:
        known = list(dict.fromkeys(one.name for one in entries))
        remedy = did_you_mean(name, known) + (f"there are: {', '.join(known)}" if known else f"there are no {kind}")
        raise refuse(f'has no {kind.removesuffix("s")} "{name}"', remedy, source)
    return found
