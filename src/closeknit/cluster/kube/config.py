"""A context of a kubeconfig as a value: the server, its certificate authority, and the client's identity.

An unsupported field is an error, never ignored: silently leaving out a proxy or another user would send requests where
they do not belong. Secrets are not in the `repr`.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, urlsplit

from ...model.mistake import refuse
from . import kubeconfig
from .exec_plugin import Plugin, plugin_of
from .kubeconfig import KubeconfigEntry
from .proxies import checked

DEFAULT_NAMESPACE = "default"
REFUSED_OF_USER = ("auth-provider", "username", "password")


@dataclass(frozen=True, slots=True)
class Config:
    """How to reach a server. Certificates and keys are PEM texts; `source` is the file, or files, of this config.

    Of `token_file`, `token` and `plugin` the first that is set counts, as with kubectl. `acting_as` are the
    impersonation headers, `headers` are sent besides. `proxy` takes precedence over the environment.
    """

    server: str
    token: str = field(default="", repr=False)
    token_file: str = ""
    plugin: Plugin | None = None
    authority: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    server_name: str = ""
    verify: bool = True
    proxy: str = field(default="", repr=False)
    acting_as: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    namespace: str = DEFAULT_NAMESPACE
    context: str = ""
    source: str = ""

    def tls(self, certificate: str = "", key: str = "") -> ssl.SSLContext | None:
        """The client's TLS context; None for a server without TLS.

        The client certificate is the configured one unless another is given. The library reads it from files only, so
        it is written to a private temporary file that is removed before this returns.
        """
        if urlsplit(self.server).scheme != "https":
            return None
        certificate, key = (certificate, key) if certificate else (self.certificate, self.key)
        try:
            context = ssl.create_default_context(cadata=self.authority or None)
            if not self.verify:
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            if certificate:
                with TemporaryDirectory() as folder:
                    file = Path(folder) / "client.pem"
                    file.touch(0o600)
                    file.write_text(f"{certificate}\n{key}")
                    context.load_cert_chain(file)
        except ssl.SSLError as error:
            said = error.reason or "it is not PEM"
            raise refuse(f"a certificate or key cannot be read: {said}", "write it again", self.source) from None
        return context


def read_config(files: Sequence[Path], context: str = "") -> Config:
    """Read the named context from these files, or the current one."""
    known = kubeconfig.read(files)
    name = context or known.current()
    chosen = known.find("contexts", name)
    cluster = known.find("clusters", chosen.text("cluster"))
    user = known.find("users", chosen.text("user")) if chosen.text("user") else KubeconfigEntry(Path(), "user", "", {})
    user.refuse_all(REFUSED_OF_USER)
    has_token = bool(user.text("token") or user.text("tokenFile"))
    return Config(
        server=cluster.address("server"),
        token="" if user.text("tokenFile") else user.text("token"),
        token_file=user.path("tokenFile"),
        plugin=None if has_token or not user.fields.get("exec") else plugin_of(user, cluster),
        authority=cluster.pem("certificate-authority"),
        certificate=user.pem("client-certificate"),
        key=user.pem("client-key"),
        server_name=cluster.text("tls-server-name"),
        verify=not cluster.fields.get("insecure-skip-tls-verify"),
        proxy=_proxy(cluster),
        acting_as=tuple(_acting_as(user)),
        namespace=chosen.text("namespace") or DEFAULT_NAMESPACE,
        context=name,
        source=known.source,
    )


def _proxy(cluster: KubeconfigEntry) -> str:
    try:
        return checked(cluster.text("proxy-url"))
    except ValueError as error:
        text, remedy = error.args
        raise cluster.wrong("proxy-url", text, remedy) from None


def _acting_as(user: KubeconfigEntry) -> Iterator[tuple[str, str]]:
    """The impersonation headers."""
    name, uid, groups, extra = user.text("as"), user.text("as-uid"), user.texts("as-groups"), user.tree("as-user-extra")
    if not name and (uid or groups or extra):
        raise user.wrong("as", "is missing, but other impersonation fields are set", "name the user to act as")
    if name:
        yield "Impersonate-User", name
    if uid:
        yield "Impersonate-Uid", uid
    for group in groups:
        yield "Impersonate-Group", group
    for key, values in extra.items():
        for value in values if isinstance(values, list) else [values]:
            yield f"Impersonate-Extra-{quote(str(key), safe='')}", str(value)
