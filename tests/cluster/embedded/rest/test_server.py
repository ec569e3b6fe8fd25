"""The server: access, the order of commits and responses, and its documents."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from aiohttp import web

from closeknit.cluster.embedded.sqlite import SqliteLog
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.kinds import CONFIG_MAP, KINDS, POD
from closeknit.cluster.port import Change, Key
from cluster.embedded.rest.running import Running
from contract.client import Api, Watch

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i:1"}], **spec}}


def raw_answer(running: Running, text: bytes) -> bytes:
    """What comes back for bytes that no client would send."""
    with (
        socket.create_connection(("127.0.0.1", running.port), timeout=10) as plain,
        running.api.context.wrap_socket(plain, server_hostname="127.0.0.1") as line,
    ):
        line.sendall(text)
        return line.recv(1 << 16)


# Access


@pytest.mark.parametrize("path", ["/api/v1/pods", "/version", "/", "/apis", "/closeknit/x", "/openapi/v3", "/metrics"])
def test_everything_needs_the_token(running: Running, path: str) -> None:
    for token in (None, "", "wrong", running.api.token + "x" if running.api.token else ""):
        stranger = running.api.as_user(token)
        answer = stranger.get(path)
        assert (answer.status, answer.body["reason"]) == (401, "Unauthorized")
        stranger.close()


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz", "/readyz/ping"])
def test_health_checks_need_no_token(running: Running, path: str) -> None:
    stranger = running.api.as_user(None)
    assert (stranger.get(path).status, stranger.get(path).body) == (200, "ok")
    stranger.close()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost", ""])
def test_a_name_that_is_not_loopback_is_not_served(running: Running, host: str) -> None:
    for path in ("/api/v1/pods", "/livez"):
        answer = running.api.request("GET", path, headers={"Host": host.format(port=running.port)})
        assert (answer.status, answer.body["reason"]) == (403, "Forbidden")


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}"])
def test_the_names_of_loopback_are_served(running: Running, host: str) -> None:
    assert running.api.request("GET", "/version", headers={"Host": host.format(port=running.port)}).status == 200


def test_two_host_headers_are_refused(running: Running) -> None:
    text = f"GET /livez HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\nHost: evil.example\r\n\r\n"
    assert raw_answer(running, text.encode()).split()[1] in (b"400", b"403")


def test_it_speaks_tls_only(running: Running) -> None:
    with socket.create_connection(("127.0.0.1", running.port), timeout=5) as plain:
        plain.sendall(f"GET /livez HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n\r\n".encode())
        assert b"HTTP" not in plain.recv(100)


def test_its_certificate_is_not_trusted_by_default(running: Running) -> None:
    with socket.create_connection(("127.0.0.1", running.port)) as plain, pytest.raises(ssl.SSLCertVerificationError):
        ssl.create_default_context().wrap_socket(plain, server_hostname="127.0.0.1")


# What it says of itself


def test_every_kind_is_discovered_and_can_be_listed(api: Api) -> None:
    for kind in KINDS:
        listed = api.get(kind.path().rpartition("/")[0]).body["resources"]
        assert kind.plural in {one["name"] for one in listed}
        body = api.get(kind.path()).body
        assert (body["kind"], body["apiVersion"]) == (f"{kind.kind}List", kind.api_version)


def test_one_answer_has_all_groups_in_the_same_words_as_the_many(api: Api) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    one = {each["metadata"]["name"]: each["versions"] for each in api.get("/apis", accept=accept).body["items"]}
    many = {each["name"]: each["versions"] for each in api.get("/apis").body["groups"]}
    assert one.keys() == many.keys()
    for group, versions in one.items():
        for version in versions:
            listed = api.get(f"/apis/{group}/{version['version']}").body["resources"]
            names = {f"{each['resource']}" for each in version["resources"]}
            parts = {
                f"{each['resource']}/{part['subresource']}"
                for each in version["resources"]
                for part in each.get("subresources", ())
            }
            assert names | parts == {each["name"] for each in listed}


def test_there_is_no_openapi_v2(api: Api) -> None:
    assert api.get("/openapi/v2").status == 404


def test_the_page_is_shown_to_browsers_and_paths_to_programs(folder: Path) -> None:
    with Running(folder, page=lambda: "<h1>hello</h1>") as running:
        answer = running.api.get("/", accept="text/html,*/*")
        assert (answer.body, answer.headers["Content-Type"]) == ("<h1>hello</h1>", "text/html; charset=utf-8")
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none';")
        assert "/apis/batch/v1" in running.api.get("/").body["paths"]
        for program in ("*/*", "application/json,text/html;q=0.5", "text/html;q=0,*/*", "text/plain", ""):
            assert "/apis/batch/v1" in running.api.get("/", accept=program).body["paths"], program


def test_a_browser_without_the_token_gets_a_page_that_explains_access(folder: Path) -> None:
    with Running(folder, page=lambda: "<h1>secret</h1>") as running:
        stranger = running.api.as_user(None)
        answer = stranger.get("/", accept="text/html,application/xhtml+xml,*/*;q=0.8")
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none';")
        assert (answer.status, answer.headers["Content-Type"]) == (401, "text/html; charset=utf-8")
        assert "kubectl proxy" in answer.body
        assert "secret" not in answer.body
        assert stranger.get("/", accept="*/*").body["reason"] == "Unauthorized"
        assert stranger.get("/api/v1/pods", accept="text/html").body["reason"] == "Unauthorized"


def test_the_best_of_several_forms_is_that_with_the_highest_q(api: Api) -> None:
    answer = api.get("/api/v1/pods", accept="application/json;q=0.1,application/yaml")
    assert answer.headers["Content-Type"] == "application/yaml"
    assert api.get("/apis", accept="application/yaml").body.startswith("apiVersion: v1")
    assert api.get("/apis", accept="text/html").status == 406


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="this machine has no IPv6")
def test_loopback_is_served_in_both_its_forms_on_one_port(running: Running) -> None:
    api = running.api
    for host in ("127.0.0.1", "::1", "localhost"):
        assert Api(host, api.port, api.context, api.token).get("/version").status == 200


def test_a_port_that_is_taken_on_ipv6_is_served_on_ipv4(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = web.TCPSite.start

    async def refusing(site: web.TCPSite) -> None:
        if site._host == "::1":
            raise OSError("address in use")
        await start(site)

    monkeypatch.setattr(web.TCPSite, "start", refusing)
    with Running(folder) as running:
        assert running.api.get("/version").status == 200


def test_a_deletion_that_has_to_wait_warns_with_the_users(api: Api) -> None:
    kueue = "/apis/kueue.x-k8s.io/v1beta2"
    quota = {"name": "cpu", "nominalQuota": 4}
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [quota]}]}]
    queue = {"metadata": {"name": "q"}, "spec": {"namespaceSelector": {}, "resourceGroups": groups}}
    assert api.post(f"{kueue}/resourceflavors", {"metadata": {"name": "f"}}).status == 201
    assert api.post(f"{kueue}/clusterqueues", queue).status == 201
    gone = api.delete(f"{kueue}/resourceflavors/f")
    why = 'ResourceFlavor \\"f\\" stays until no ClusterQueue refers to it: q'
    assert (gone.status, gone.warnings) == (200, [f'299 - "{why}"'])
    assert api.delete(f"{kueue}/resourceflavors").warnings == [f'299 - "{why}"']
    rows = api.get(f"{kueue}/resourceflavors", accept="application/json;as=Table;v=v1;g=meta.k8s.io").body["rows"]
    assert [row["cells"][-1] for row in rows] == ["Terminating"]
    assert api.delete(f"{kueue}/clusterqueues/q").warnings == []


def test_others_can_answer_under_paths_of_their_own(folder: Path) -> None:
    async def decisions(request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"path": request.raw_path, "method": request.method})

    with Running(folder, extra={"closeknit/decisions": decisions, "metrics": decisions}) as running:
        assert running.api.get("/metrics").body == {"path": "/metrics", "method": "GET"}
        answer = running.api.get("/closeknit/decisions/3", since=5)
        assert answer.body == {"path": "/closeknit/decisions/3?since=5", "method": "GET"}
        assert running.api.get("/closeknit/other").status == 404


# When it answers


class SlowLog:
    """A log that records its calls, and can be made to fail."""

    def __init__(self) -> None:
        self.commits: list[int] = []
        self.is_full = False

    def append(self, change: Change) -> None:
        pass

    def commit(self, version: int) -> None:
        if self.is_full:
            raise OSError("no space left on device")
        self.commits.append(version)


def test_a_response_comes_after_the_commit_and_on_change_is_called(folder: Path) -> None:
    log, nudges = SlowLog(), []
    with Running(folder, log=log, on_change=lambda: nudges.append(log.commits[-1])) as running:
        answer = running.api.post(MAPS, config_map("a"))
        assert answer.status == 201
        version = int(answer.body["metadata"]["resourceVersion"])
        assert log.commits[-1] == nudges[-1] == version
        running.api.get(f"{MAPS}/a")
        assert len(nudges) == 1


def test_a_failed_commit_is_an_error_and_is_not_shown_to_watchers(folder: Path) -> None:
    log = SlowLog()
    with Running(folder, log=log) as running:
        log.is_full = True
        answer = running.api.post(MAPS, config_map("a"))
        assert (answer.status, answer.body["kind"]) == (500, "Status")
        assert "no space left on device" in answer.body["message"]
        assert running.api.get(f"{MAPS}/a").status == 500
        log.is_full = False
        assert running.api.get(f"{MAPS}/a").status == 200


def test_writes_of_one_turn_share_a_commit(folder: Path) -> None:
    log = SlowLog()
    with Running(folder, log=log) as running:

        async def together() -> list[int]:
            class Sent:
                """The part of a request that the server reads."""

                def __init__(self, name: str) -> None:
                    self.method, self.raw_path = "POST", MAPS
                    self.headers = Headers(running)
                    self.content, self.content_length = Body(json.dumps(config_map(name)).encode()), None

            requests: list[Any] = [Sent(f"m{number}") for number in range(20)]
            answers = await asyncio.gather(*(running.server.handle(request) for request in requests))
            return [answer.status for answer in answers]

        before = len(log.commits)
        done = asyncio.run_coroutine_threadsafe(together(), running._loop).result(20)
        assert done == [201] * 20
        assert len(log.commits) - before == 1


class Headers(dict[str, str]):
    def __init__(self, running: Running) -> None:
        host, token = f"127.0.0.1:{running.port}", f"Bearer {running.api.token}"
        super().__init__({"Host": host, "Authorization": token, "Content-Type": "application/json"})

    def getall(self, name: str, default: Any = None) -> list[str]:
        return [self[name]]


class Body:
    def __init__(self, data: bytes) -> None:
        self._data = data

    async def readany(self) -> bytes:
        data, self._data = self._data, b""
        return data


def test_everything_is_there_again_after_a_restart(folder: Path) -> None:
    log = SqliteLog(folder / "state")
    with Running(folder, log=log) as running:
        made = running.api.post(MAPS, config_map("a", k="v")).body
    log.close()
    log = SqliteLog(folder / "state")
    running = Running(folder)
    running.do(log.load)
    try:
        assert running.api.get(f"{MAPS}/a").body == made
    finally:
        running.stop()
        log.close()


# Bodies


def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(running: Running, api: Api) -> None:
    body = json.dumps(config_map("big", k="x" * (3 << 20))).encode()
    assert api.request("POST", MAPS, body).status == 413
    chunks = (body[start : start + 65536] for start in range(0, len(body), 65536))
    connection = http.client.HTTPSConnection("127.0.0.1", running.port, context=api.context, timeout=20)
    headers = {"Authorization": f"Bearer {api.token}", "Content-Type": "application/json"}
    connection.request("POST", MAPS, body=chunks, headers=headers, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def test_a_dry_run_is_answered_but_nothing_changes(running: Running, api: Api) -> None:
    api.post(MAPS, config_map("dry", k="v"))
    before = running.version
    assert api.post(MAPS, config_map("never"), dryRun="All").status == 201
    assert api.merge(f"{MAPS}/dry", {"data": {"k": "w"}}, dryRun="All").body["data"] == {"k": "w"}
    assert api.put(f"{MAPS}/dry", config_map("dry", k="x"), dryRun="All").status == 200
    assert api.apply(f"{MAPS}/dry", {**config_map("dry", k="y")}, "me", dryRun="All", force=True).status < 500
    assert api.delete(f"{MAPS}/dry", dryRun="All").status == 200
    assert api.delete(MAPS, dryRun="All").status == 200
    assert running.version == before
    assert api.get(f"{MAPS}/dry").body["data"] == {"k": "v"}


@pytest.mark.parametrize(
    ("path", "is_served"), [(MAPS, True), ("/apis/rbac.authorization.k8s.io/v1/clusterroles", False)]
)
def test_protobuf_of_a_kind_outside_the_table_is_refused(api: Api, path: str, is_served: bool) -> None:
    answer = api.request("POST", path, b"k8s\x00", "application/vnd.kubernetes.protobuf")
    assert (answer.status, answer.body["reason"]) == (415, "UnsupportedMediaType")
    assert "protobuf is not supported" in answer.body["message"]
    assert ("--dry-run=client -o yaml | kubectl create -f -" in answer.body["message"]) is is_served


REVIEWS = "/apis/authorization.k8s.io/v1/"


def test_a_review_says_that_everything_is_allowed(api: Api) -> None:
    asked = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    answer = api.post(REVIEWS + "selfsubjectaccessreviews", {"kind": "SelfSubjectAccessReview", "spec": asked})
    assert (answer.status, answer.body["status"]) == (201, {"allowed": True})
    assert answer.body["spec"] == asked
    rules = api.post(REVIEWS + "selfsubjectrulesreviews", {"spec": {"namespace": "default"}})
    assert rules.body["status"]["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]


@pytest.mark.parametrize("body", [[], {"kind": "Pod"}, {"spec": []}])
def test_a_review_that_is_none_is_refused(api: Api, body: Any) -> None:
    assert api.post(REVIEWS + "selfsubjectaccessreviews", body).status == 400
    assert api.post(REVIEWS + "gadgets", body).status == 404


def test_an_answer_can_be_had_in_yaml(api: Api) -> None:
    api.post(MAPS, config_map("yaml", k="no"))
    answer = api.get(f"{MAPS}/yaml", accept="application/yaml")
    assert answer.headers["Content-Type"] == "application/yaml"
    assert "data:\n  k: 'no'\n" in answer.body


def test_warnings_are_headers_that_can_be_read(api: Api) -> None:
    answer = api.post(MAPS, {**config_map("warned"), 'a"b\nc\\ä': 1})
    assert answer.status == 201
    (warning,) = answer.warnings
    assert warning.startswith('299 - "unknown field')


def test_nothing_runs_in_a_pod_so_there_is_no_log(api: Api) -> None:
    api.post(PODS, pod("quiet"))
    answer = api.get(f"{PODS}/quiet/log")
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert "simulated" in answer.body["message"]
    assert api.get(f"{PODS}/nobody/log").status == 404


def test_a_pod_that_wants_an_eternity_to_stop_can_be_deleted(api: Api) -> None:
    api.post(PODS, pod("slow", nodeName="n", terminationGracePeriodSeconds=2**62))
    body = api.delete(f"{PODS}/slow").body
    assert body["metadata"]["deletionGracePeriodSeconds"] == 2**31
    assert api.delete(f"{PODS}/slow", {"gracePeriodSeconds": -1}).body["metadata"]["deletionGracePeriodSeconds"] == 1
    assert api.delete(f"{PODS}/slow", gracePeriodSeconds=0).status == 200
    assert api.get(f"{PODS}/slow").status == 404


def test_namespaces_of_the_system_stay(api: Api) -> None:
    assert api.delete("/api/v1/namespaces/default").status == 403


def test_an_unknown_method_is_a_status_too(running: Running) -> None:
    text = f"BREW /api HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n\r\n"
    answer = raw_answer(running, text.encode())
    assert answer.split()[1] == b"405"
    assert b'"reason":"MethodNotAllowed"' in answer


def test_malformed_http_gets_a_status_too(running: Running) -> None:
    answer = raw_answer(running, b"GET / HTTP/1.1\r\nbroken header\r\n\r\n")
    assert answer.split()[1] == b"400"
    assert b'"kind":"Status"' in answer


# Watches


def eventually(check: Callable[[], bool]) -> None:
    end = monotonic() + 10
    while not check():
        assert monotonic() < end
        sleep(0.02)


def watchers(running: Running) -> int:
    return running.do(lambda _: sum(len(group.watchers) for group in running.server.hub._groups.values()))


def test_a_watcher_that_goes_away_is_forgotten(running: Running, api: Api) -> None:
    with api.watch(MAPS):
        eventually(lambda: watchers(running) == 1)
    eventually(lambda: watchers(running) == 0)


def test_a_watch_in_http_1_0_is_refused(running: Running) -> None:
    head = f"Host: 127.0.0.1:{running.port}\r\nAuthorization: Bearer {running.api.token}"
    answer = raw_answer(running, f"GET {MAPS}?watch=1 HTTP/1.0\r\n{head}\r\n\r\n".encode())
    assert b" 400 " in answer.partition(b"\r\n")[0]


def test_a_watch_from_an_expired_version_gets_an_error_event(folder: Path) -> None:
    with Running(folder) as running:
        running.api.post(MAPS, config_map("a"))
        running.do(lambda store: store.compact())
        running.api.post(MAPS, config_map("b"))
        with running.api.watch(MAPS, resourceVersion=1) as watch:
            event = watch.next()
            assert watch.rest(within=5) == []
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


def test_a_watch_from_a_future_version_is_expired(api: Api) -> None:
    with api.watch(MAPS, resourceVersion=10**9) as watch:
        event = watch.next()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_a_large_beginning_comes_whole_while_changes_go_on(folder: Path) -> None:
    """More than a watcher may leave unread once it has caught up."""
    with Running(folder) as running:

        def fill(store: Store) -> None:
            for number in range(3000):
                data = {"k": "x" * 4000}
                store.create(CONFIG_MAP, {"metadata": {"name": f"m{number:04}"}, "data": data})

        running.do(fill)
        stop = threading.Event()

        def change_one(store: Store) -> None:
            data = {"data": {"n": str(store.version)}}
            store.patch(Key(CONFIG_MAP, "default", "m0000"), data)

        def change() -> None:
            while not stop.is_set():
                running.do(change_one)

        changing = threading.Thread(target=change)
        changing.start()
        try:
            with running.api.watch(
                MAPS, sendInitialEvents=True, resourceVersionMatch="NotOlderThan", allowWatchBookmarks=True
            ) as watch:
                first = watch.take(3001, within=60)
                later = watch.take(20, within=20)
        finally:
            stop.set()
            changing.join(20)
    assert [event["object"]["metadata"]["name"] for event in first[:3000]] == [
        f"m{number:04}" for number in range(3000)
    ]
    assert first[3000]["type"] == "BOOKMARK"
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in first[3000:] + later]
    assert versions == list(range(versions[0], versions[0] + 21))


def test_a_watcher_that_does_not_read_does_not_hold_up_the_others(folder: Path) -> None:
    with Running(folder) as running, socket.create_connection(("127.0.0.1", running.port)) as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line = running.api.context.wrap_socket(plain, server_hostname="127.0.0.1")
        head = f"Host: 127.0.0.1:{running.port}\r\nAuthorization: Bearer {running.api.token}"
        line.sendall(f"GET {MAPS}?watch=1 HTTP/1.1\r\n{head}\r\n\r\n".encode())
        eventually(lambda: watchers(running) == 1)
        with running.api.watch(MAPS) as reading:
            eventually(lambda: watchers(running) == 2)
            for number in range(40):
                assert running.api.post(MAPS, config_map(f"m{number}", k="x" * 500_000)).status == 201
                assert reading.next()["object"]["metadata"]["name"] == f"m{number}"
            eventually(lambda: watchers(running) == 1)
        line.close()


def test_a_watch_ends_when_the_server_stops(folder: Path) -> None:
    running = Running(folder)
    watch: Watch = running.api.watch(MAPS)
    eventually(lambda: watchers(running) == 1)
    running.stop()
    assert watch.rest(within=5) == []


def test_bookmarks_come_while_nothing_happens(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("closeknit.cluster.embedded.rest.streams.BOOKMARK_EVERY", 0.05)
    with Running(folder) as running, running.api.watch(MAPS, allowWatchBookmarks=True) as watch:
        events = watch.take(3)
        running.do(lambda store: store.create(POD, pod("elsewhere")))
        later = watch.take(3)
    assert {event["type"] for event in events + later} == {"BOOKMARK"}
    assert later[-1]["object"]["metadata"] == {"resourceVersion": "3"}


def test_get_all_shows_what_the_definitions_of_each_kind_say(api: Api) -> None:
    found = {
        one["name"]
        for kind in KINDS
        for one in api.get(kind.path().rpartition("/")[0]).body["resources"]
        if "all" in one.get("categories", ())
    }
    assert found == {
        *("pods", "services", "deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs"),
        *("rayjobs", "rayclusters"),
    }


@pytest.mark.parametrize(
    ("plural", "short"),
    [
        ("workloads", ["kwl", "kueueworkload", "kueueworkloads", "wl"]),
        ("clusterqueues", ["cq"]),
        ("localqueues", ["queue", "queues", "lq"]),
        ("resourceflavors", ["flavor", "flavors", "rf"]),
        ("topologies", ["topo"]),
        ("cohorts", ["co"]),
    ],
)
def test_kinds_of_kueue_go_by_their_short_names(api: Api, plural: str, short: list[str]) -> None:
    listed = {one["name"]: one for one in api.get("/apis/kueue.x-k8s.io/v1beta2").body["resources"]}
    assert listed[plural]["shortNames"] == short
