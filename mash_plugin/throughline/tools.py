"""The mm_* tools: what they are called, what they take, and what they answer."""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mash_plugin.errors import InvalidArgument
from mash_plugin.throughline.arguments import checked
from mash_plugin.throughline.recall import BUDGET, MOST, STAGES, Question
from mash_plugin.throughline.settings import Settings

Json = dict[str, Any]
SEARCH, SESSION_RECALL = "mm_search", "mm_session_recall"
REMEMBER, COMPILE = "mm_remember", "mm_compile_memory"
WHEN_WORKING = (
    "Check working memory when you are asked about something that may have happened in another"
    " channel: a chat, a nightly job, a background loop"
    ' ("did the invoice run work?", "what did we agree in chat?").'
)


class Place(NamedTuple):
    """Whose memory is asked, and where it lies; no argument of a tool can change either."""

    agent: str
    settings: Settings
    now: int


class Reply(NamedTuple):
    """A text for the agent and the same as data."""

    text: str
    data: Json


def _tool(name: str, title: str, description: str, inputs: Json, *, writes: bool = False) -> Json:
    hints = {"readOnlyHint": not writes, "destructiveHint": False}
    return {
        "name": name,
        "title": title,
        "description": description,
        "annotations": hints | {"idempotentHint": True, "openWorldHint": False},
        "inputSchema": {"type": "object", "additionalProperties": False, **inputs},
    }


_SESSION = {"type": "string", "minLength": 1, "maxLength": 200}
_ALL: dict[str, Json] = {
    SEARCH: _tool(
        SEARCH,
        "Search memories",
        "Search your memories; all words of the query must match. Long-term memory alone is"
        ' searched unless memory_stage is "working" or "any": captured sessions and jobs are in'
        " working memory, and are found with these two alone."
        f" {WHEN_WORKING}",
        {
            "properties": {
                "query": {"type": "string", "maxLength": 1000},
                "category": {"type": "string"},
                "min_sig": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.0},
                "budget": {"type": "integer", "minimum": 1, "maximum": MOST, "default": BUDGET},
                "memory_stage": {"enum": list(STAGES), "default": "long_term"},
            }
        },
    ),
    SESSION_RECALL: _tool(
        SESSION_RECALL,
        "Read back one session",
        "Everything that was captured of one session, or remembered in it. Of a job's plain log"
        " only that it ran and its number of lines is known: not what it did, nor how it ended.",
        {"required": ["session_id"], "properties": {"session_id": _SESSION}},
    ),
    REMEMBER: _tool(
        REMEMBER,
        "Remember something",
        "Keep a memory; it can be found after the next drain. With memory_stage"
        ' "working", session_id and channel it is a working memory of this session.'
        " Never put a credential in it.",
        {
            "required": ["text"],
            "properties": {
                "text": {"type": "string", "minLength": 1, "maxLength": 2000},
                "category": {"type": "string", "minLength": 1, "default": "note"},
                "significance": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
                "memory_stage": {"enum": ["long_term", "working"], "default": "long_term"},
                "session_id": {"type": "string", "maxLength": 200},
                "channel": {"type": "string", "maxLength": 200},
                "status": {"type": "string"},
            },
        },
        writes=True,
    ),
    COMPILE: _tool(
        COMPILE,
        "Rebuild the compiled memory file",
        "Write the compiled memory file of the workspace anew, now.",
        {"properties": {}},
        writes=True,
    ),
}


def tool_schemas(settings: Settings) -> list[Json]:
    """The tools that this backend offers; a rebuild on demand needs a server (R-223)."""
    return [tool for name, tool in _ALL.items() if name != COMPILE or settings.backend != "file"]


def call_tool(name: str, arguments: Mapping[str, Any], place: Place) -> Reply:
    """Answer one call. Raises InvalidArgument, CredentialText or a LocalFailure."""
    offered = {tool["name"]: tool for tool in tool_schemas(place.settings)}
    if name not in offered:
        raise InvalidArgument(
            f"There is no tool {name[:100]!r} here; the tools: {', '.join(offered)}."
        )
    return _ANSWERS[name](checked(offered[name]["inputSchema"], arguments), place)


def _search(asked: Json, place: Place) -> Reply:
    from mash_plugin.throughline import texts
    from mash_plugin.throughline.recall import search
    from mash_plugin.throughline.store import open_database

    question = Question(
        query=asked.get("query"),
        category=asked.get("category"),
        min_sig=float(asked["min_sig"]),
        budget=asked["budget"],
        stage=asked["memory_stage"],
    )
    db = open_database(place.settings, to_write=False)
    try:
        answer = search(db, place.agent, question)
    finally:
        db.close()
    data = {
        "agent": place.agent,
        "memory_stage": question.stage,
        "entries": [texts.row_data(row) for row in answer.rows],
        "more": answer.has_more,
        "long_term_matches": answer.long_term_matches,
        "working_matches": answer.working_matches,
    }
    return Reply(texts.search_text(place.agent, question, answer), data)


def _session_recall(asked: Json, place: Place) -> Reply:
    from mash_plugin.throughline import texts
    from mash_plugin.throughline.recall import recall_session
    from mash_plugin.throughline.store import open_database

    db = open_database(place.settings, to_write=False)
    try:
        rows = recall_session(db, place.agent, asked["session_id"])
    finally:
        db.close()
    data = {"agent": place.agent, "session_id": asked["session_id"]}
    data["entries"] = [texts.row_data(row) for row in rows]
    return Reply(texts.session_text(asked["session_id"], rows), data)


def _remember(asked: Json, place: Place) -> Reply:
    from mash_plugin.throughline.remember import Memo, remember

    memo = Memo(
        text=asked["text"],
        category=asked["category"],
        significance=float(asked["significance"]),
        stage=asked["memory_stage"],
        session=asked.get("session_id") or None,
        channel=asked.get("channel") or None,
        status=asked.get("status") or None,
    )
    workspace = place.settings.workspace
    is_made = not os.path.isdir(workspace)
    is_new = remember(workspace, place.agent, memo, place.now)
    what = "Queued" if is_new else "Already queued"
    text = f"{what} as {memo.stage} memory of {place.agent}; it can be found after the next drain."
    text += f" {workspace} did not exist and was made: is the name right?" if is_made else ""
    return Reply(text, {"agent": place.agent, "memory_stage": memo.stage, "queued": is_new})


def _compile(_asked: Json, place: Place) -> Reply:
    from mash_plugin.throughline.compile import rebuild
    from mash_plugin.throughline.store import open_database

    db = open_database(place.settings, to_write=True)
    try:
        rebuilt = rebuild(db, place.settings, place.agent, place.now)
    finally:
        db.close()
    said = f"Rebuilt {rebuilt.place}. {rebuilt.note}".rstrip()
    return Reply(said, {"agent": place.agent, "file": rebuilt.place})


_ANSWERS: dict[str, Callable[[Json, Place], Reply]] = {
    SEARCH: _search,
    SESSION_RECALL: _session_recall,
    REMEMBER: _remember,
    COMPILE: _compile,
}
