"""The real store behind the real daemon, asked over its socket."""

from mash_plugin import client
from mash_plugin.errors import MashError
from tests.lifecycle.machine import START, Seen, seen_by
from tests.lifecycle.model import Change, Json, Model, Record
from tests.lifecycle.talk import Cite, Speaker, messages, text_of
from tests.support.daemons import Place
from tests.support.transcripts import ClaudeTranscript

WHOLE = {"limit": 20, "byte_budget": 32_768}


class Serving:
    """One daemon. Calls bring their time along; its workers read it in a file."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.clock = place.root / "now_ms"
        self.set_clock(START)
        place.start(MASH_TEST_NOW_MS=f"@{self.clock}")

    def begin(self, number: int) -> "Served":
        """A session in a folder of its own: two scopes that no other run sees."""
        self.set_clock(START)
        return Served(self, number)

    def set_clock(self, now: int) -> None:
        self.now_ms = str(now)
        new = self.clock.with_suffix(".new")
        new.write_text(self.now_ms)
        new.replace(self.clock)


class Served:
    """One run's conversation and its scopes."""

    def __init__(self, serving: Serving, number: int) -> None:
        self.serving, self.paths = serving, serving.place.paths
        self.session = f"lives-{number}"
        self.project = serving.place.root / "work" / self.session
        self.project.mkdir(parents=True)
        self.transcript = ClaudeTranscript(
            serving.place.home / ".claude", str(self.project), self.session
        )
        self.messages: dict[tuple[Speaker, int], str] = {}
        for speaker, round_, text in messages():
            self.messages[speaker, round_] = self._say(speaker, text)
        self.chat = f"claude-code-{self.session}"
        self.scopes: tuple[Json, ...] = (
            {"kind": "chat", "id": self.chat},
            {"kind": "local_project", "path": str(self.project)},
        )

    def apply(self, operation: str, change: Change, now: int) -> Json:  # noqa: ARG002
        return self.ask("record", {"operation_id": operation, "change": self.request(change)})

    def request(self, change: Change) -> Json:
        """The change as a client sends it."""
        request: Json = {"action": change.action}
        if change.action == "create":
            request["scope"] = self.scopes[change.scope]
            request["on_duplicate"] = "reuse" if change.reuse else "report"
        else:
            request["expected"] = {"id": change.record, "revision": change.revision}
        if change.say:
            request["body"] = change.say.as_json()
        if change.cites is not None and (change.cites or change.action != "forget"):
            request["evidence"] = [self.citation(cite) for cite in change.cites]
        if change.target:
            request["target"] = {"id": change.target, "revision": change.target_revision}
            request["relation"] = change.relation
        return request

    def citation(self, cite: Cite) -> Json:
        return {
            "message_id": self.messages[cite.message],
            "quote": text_of(*cite.message),
            "purpose": cite.purpose,
        }

    def read(self, record_id: str, now: int) -> Seen | str:  # noqa: ARG002 - its clock tells
        answer = self.ask("get_record", {"id": record_id})
        if "error" in answer:
            return str(answer["error"]["code"])
        return _seen(answer["record"])

    def set_clock(self, now: int) -> None:
        self.serving.set_clock(now)

    def edit(self, message: tuple[Speaker, int], is_changed: bool) -> None:
        own, edited = text_of(*message), f"Other words now stand in message {message}."
        self.transcript.rewrite(*((own, edited) if is_changed else (edited, own)))
        # Whoever cites a session reads it anew; this one cites nothing that stands there.
        cite = {"message_id": self.messages["bare", 0], "quote": "no such words"}
        body = {"statement": "x", "details": {"kind": "preference", "state": "active"}}
        change = {"action": "create", "scope": self.scopes[0], "body": body, "evidence": [cite]}
        answer = self.ask("record", {"operation_id": "none", "change": change})
        assert answer["error"]["code"] == "quote_not_found", answer

    def ask(self, method: str, params: Json) -> Json:
        """The result of one method, or its error."""
        try:
            now_ms = self.serving.now_ms
            caller = {"agent": "claude-code", "session_id": self.session, "now_ms": now_ms}
            return client.call(method, params, paths=self.paths, caller=caller, start=False)
        except MashError as error:
            return {"error": error.as_json()}

    def check(self, model: Model) -> None:
        """Histories, links, lists and recall."""
        for record_id in model.seen():
            self._check_history(model, record_id, model.records[record_id])
        for scope in range(len(self.scopes)):
            self._check_scope(model, scope)

    def _check_history(self, model: Model, record_id: str, record: Record) -> None:
        answer = self.ask("get_record", {"id": record_id, "history": True, "limit": 20})
        numbered = list(enumerate(record.revisions, 1))[::-1][:20]
        for (number, wanted), found in zip(numbered, answer["revisions"], strict=False):
            assert found["revision"] == number
            assert found["recorded_at"] == wanted.at
            expected = wanted.say.as_json()
            got = {key: found["body"].get(key) for key in expected}
            assert got == expected, (record_id, got, expected)
            for added_by, cites in (("revision", wanted.cites), ("confirmation", wanted.supports)):
                cited = {(self.messages[c.message], c.purpose) for c in cites}
                kept = [e for e in found["evidence"] if e["added_by"] == added_by]
                assert {(e["message_id"], e["purpose"]) for e in kept} == cited, (record_id, number)
            confirmed = {self.messages[m]: at for m, at in wanted.confirmed.items()}
            told = {c["message_id"]: c["confirmed_at"] for c in found["confirmation_history"]}
            assert told == confirmed, (record_id, number)
        assert answer["revisions"][-1]["revision"] == 1 or len(numbered) > len(answer["revisions"])
        links = {(one["direction"], one["relation"], one["id"]) for one in answer["links"]}
        assert links == _links_of(model, record_id), record_id

    def _check_scope(self, model: Model, scope: int) -> None:
        own = [i for i in model.seen() if model.records[i].scope == scope]
        every = self._listed({"scope": self.scopes[scope], "include_inactive": True})
        assert {i: _seen(item) for i, item in every.items()} == {i: seen_by(model, i) for i in own}
        current = [i for i in own if model.status(model.records[i]) == "current"]
        assert sorted(self._listed({"scope": self.scopes[scope]})) == sorted(current)
        packet = self.ask("recall_records", {"scope": self.scopes[scope], **WHOLE})
        if not model.receipts and "error" in packet:
            return  # nothing has read this conversation yet
        shown = [
            i
            for i in own
            if model.status(model.records[i]) in ("current", "candidate")
            and not model.is_conflicted(i)
        ]
        found = [item["id"] for item in packet["records"]]
        if packet["truncated"]:
            assert set(found) <= set(shown)
        else:
            assert sorted(found) == sorted(shown)

    def _listed(self, request: Json) -> dict[str, Json]:
        found: dict[str, Json] = {}
        offset = 0
        while offset is not None:
            page = self.ask("list_records", {**request, "limit": 50, "offset": offset})
            found |= {item["id"]: item for item in page["records"]}
            offset = page["next_offset"]
        return found

    def _say(self, speaker: Speaker, text: str) -> str:
        match speaker:
            case "words" | "bare":
                return self.transcript.person(text)
            case "proposal" | "agent":
                return self.transcript.agent(text)
            case "tool":
                return self.transcript.tool_result(text)
            case "notice":
                return self.transcript.notification(text)


def _links_of(model: Model, record_id: str) -> set[tuple[str, str, str]]:
    links = set()
    seen = set(model.seen())
    for source, target, relation in model.links:
        if {source, target} <= seen:
            if source == record_id:
                links.add(("outgoing", relation, target))
            if target == record_id:
                links.add(("incoming", relation, source))
    return links


def _seen(item: Json) -> Seen:
    return Seen(
        item["revision"],
        item["review"],
        item["state"],
        item["statement"],
        item["status"],
        item["confirmations"],
        item.get("conflicted", False),
    )
