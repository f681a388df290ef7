"""The REST API: an agent reads its own memories, and writes no working ones."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.throughline import queue
from mash_plugin.throughline.rest import Api as Application
from tests.privacy.samples import SAMPLES
from tests.throughline.conftest import AGENT, CHAT, SESSION, both

OTHER = "other-bot"
SECRET = SAMPLES["GitHub token"][0]


@dataclass
class Api:
    """A server in a process of its own, asked over HTTP."""

    process: "subprocess.Popen[str]"
    url: str
    tokens: dict[str, str]

    def ask(self, path, agent=AGENT, body=None, token=None, method=None):
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)  # noqa: S310
        token = token or self.tokens.get(agent)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode()
            return error.code, json.loads(text) if text.startswith("{") else text


def start(workspace, *agents):
    options = [part for agent in agents for part in ("--agent", agent)]
    command = [sys.executable, "-m", "mash_plugin.cli.meaning_memory", "serve", *options]
    environment = {"PATH": os.environ["PATH"], "HOME": workspace.path, **workspace.environment}
    process = subprocess.Popen(
        [*command, "--port", "0", "--config-dir", workspace.path],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    url = process.stdout.readline().split()[1].removesuffix("/v1/memories")
    files = [Path(process.stdout.readline().split(" is in ")[1].strip()) for _ in agents]
    for file in files:
        assert file.stat().st_mode & 0o777 == 0o600
    return Api(process, url, dict(zip(agents, (f.read_text().strip() for f in files), strict=True)))


@pytest.fixture
def api(workspace, backend):
    workspace.capture(workspace.write(CHAT))
    workspace.drain()
    api = start(workspace, *([AGENT] if backend == "postgres" else [AGENT, OTHER]))
    yield api
    api.process.terminate()
    api.process.communicate(timeout=20)


@both
@pytest.mark.spec("R-225", "R-197")
def test_working_memories_are_read_when_asked_for(api):
    assert api.ask("/v1/memories?query=Zephyr")[1]["entries"] == []
    status, body = api.ask("/v1/memories?query=Zephyr&memory_stage=working&budget=5&min_sig=0.5")
    assert status == 200
    assert body == {
        "agent": AGENT,
        "memory_stage": "working",
        "entries": [
            {
                "mem_id": "76105ad2c0a9b0cf",
                "significance": 0.65,
                "category": "decision",
                "date": "2026-10-03",
                "text": "Decided to hold Zephyr's November invoice until the address is fixed.",
                "stage": "working",
                "at": "2026-10-03T16:03:30Z",
                "session_id": SESSION,
                "channel": "telegram:dm",
            }
        ],
        "more": False,
        "long_term_matches": 0,
        "working_matches": None,
    }
    session = api.ask(f"/v1/sessions/{SESSION}")[1]
    assert api.ask("/v1/sessions/jobs%2Fnightly")[1]["session_id"] == "jobs/nightly"
    assert [row["category"] for row in session["entries"]] == ["summary", "commitment", "decision"]


@pytest.mark.spec("R-225", "R-213")
def test_another_agents_token_shows_nothing_of_an_agent(api):
    for stage in ("working", "any", "long_term"):
        body = api.ask(f"/v1/memories?memory_stage={stage}", OTHER)[1]
        assert (body["agent"], body["entries"]) == (OTHER, [])
    assert api.ask(f"/v1/sessions/{SESSION}", OTHER)[1]["entries"] == []
    assert api.ask(f"/v1/memories?memory_stage=working&agent={AGENT}", OTHER)[0] == 400


@both
@pytest.mark.spec("R-225")
def test_working_memories_cannot_be_written(api, workspace):
    told = {"text": "Dana is away.", "memory_stage": "working"}
    for path, body in (
        ("/v1/memories", told),
        ("/v1/memories?memory_stage=working", {"text": "Dana is away."}),
    ):
        status, answer = api.ask(path, body=body)
        assert status == 403
        assert answer["error"]["code"] == "working_read_only"
    assert workspace.queued == []
    status, answer = api.ask("/v1/memories", body={"text": "Dana handles addresses."})
    assert (status, answer["queued"]) == (202, True)
    assert len(workspace.queued) == 1
    workspace.drain()
    assert len(api.ask("/v1/memories?query=addresses")[1]["entries"]) == 1


@pytest.mark.parametrize(
    ("path", "body", "token", "method", "status"),
    [
        ("/v1/memories", None, "wrong", None, 401),
        ("/v1/memories", {"text": "x"}, "wrong", None, 401),
        ("/v1/sessions/a", None, "wrong", None, 401),
        ("/v1/memories?budget=many", None, None, None, 400),
        ("/v1/memories?budget=0", None, None, None, 400),
        ("/v1/memories?memory_stage=deep", None, None, None, 400),
        ("/v1/memories", b"{", None, None, 400),
        ("/v1/memories", b"[]", None, None, 400),
        ("/v1/memories", {"text": ""}, None, None, 400),
        ("/v1/memories", {"text": f"The key is {SECRET}."}, None, None, 422),
        ("/v1/memories", b"x" * 70_000, None, None, 413),
        ("/v1/memories", None, None, "DELETE", 405),
        ("/v1/nothing", None, None, None, 404),
        ("/v1/memories/", None, None, None, 404),
    ],
)
def test_what_cannot_be_answered_has_its_status_and_no_secret(
    shared, path, body, token, method, status
):
    api, workspace = shared
    found, answer = api.ask(path, body=body, token=token, method=method)
    assert found == status
    assert answer["error"]["code"]
    assert SECRET not in str(answer)
    assert workspace.queued == []


def test_a_queue_that_nobody_drains_is_no_fault_of_the_request(workspace, monkeypatch):
    from starlette.testclient import TestClient

    monkeypatch.setattr(queue, "MOST_WAITING", 0)
    here = TestClient(Application({"token": AGENT}, workspace.settings).application())
    bearer = {"Authorization": "Bearer token"}
    answer = here.post("/v1/memories", json={"text": "Tea at four."}, headers=bearer)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "too_large")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    from tests.throughline.conftest import NOW, Workspace

    folder = tmp_path_factory.mktemp("rest") / "workspace"
    folder.mkdir()
    workspace = Workspace(folder, {"MASH_TESTING": "1", "MM_TEST_NOW_MS": str(NOW)})
    api = start(workspace, AGENT)
    yield api, workspace
    api.process.terminate()
    api.process.communicate(timeout=20)


def test_the_openapi_document_names_what_is_there_and_needs_no_token(shared):
    api, _ = shared
    status, found = api.ask("/openapi.json", agent="nobody")
    assert (status, found["openapi"]) == (200, "3.1.0")
    assert list(found["paths"]) == ["/v1/memories", "/v1/sessions/{session_id}"]
    names = [one["name"] for one in found["paths"]["/v1/memories"]["get"]["parameters"]]
    assert names == ["query", "category", "min_sig", "budget", "memory_stage"]
    written: Any = found["paths"]["/v1/memories"]["post"]["requestBody"]["content"]
    assert written["application/json"]["schema"]["properties"]["memory_stage"] == {
        "const": "long_term"
    }


def test_a_token_that_others_can_read_stops_the_start(workspace):
    tokens = workspace.folder / "tokens"
    serve = ("serve", "--agent", AGENT, "--config-dir", workspace.path)
    api = start(workspace, AGENT)
    api.process.terminate()
    api.process.communicate(timeout=20)
    (file,) = tokens.iterdir()
    file.chmod(0o644)
    done = workspace.run(*serve, "--port", "0")
    assert done.code == 1
    assert "can be read by others" in done.err
    file.chmod(0o600)
    file.write_bytes(b"\xff" * 64)
    done = workspace.run(*serve, "--port", "0")
    assert done.code == 1
    assert "Delete the file" in done.err


def test_it_listens_on_this_machine_alone(workspace):
    everywhere = "0.0.0.0"  # noqa: S104 - refused
    done = workspace.run("serve", "--agent", AGENT, "--host", everywhere, "--config-dir", "d")
    assert done.code == 2
