"""Make the data that the figures are measured on: transcripts like those people have.

Shares as counted in 1,376 real files: of the `type:user` lines 7 % are prompts and 88 % tool
results, which are long and carried twice; over a third of all lines are the client's own.
"""

import json
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

START = datetime(2026, 9, 1, 8, tzinfo=UTC)
FILE_BYTES = 2_500_000
TOOL_CALLS_A_TURN = 12
VOCABULARY = 30_000
_CHINESE = (
    "的一是了我不在有这们来到时大地为子中你说生国年着就那和要她出也得里后自以会家可下而过"
    "天去能对小多然于心学么之都好看起发当没成只如事把还用第样道想作种开"
    "数据库索引搜索记忆文件测试缓存接口函数模块部署配置错误日志线程请求响应会话消息用户身份验证"
)
_COMMON_WORDS = (
    "the to of and a in is it that for on with this be are as we you can not will if from or an by "
    "use should file test run code function error add change now need one when it's have so but do "
    "all there let me check fix make first then just which also because still into new returns"
)
_SYLLABLE_LIST = (
    "re con de in ex pro ca ter na lo mi sta tor ver ing ment ble ser per ta ri le ma du col fer "
    "gra po si ton val que str cho lem bar dex fil net sol cur ast"
)
_COMMON, _SYLLABLES = _COMMON_WORDS.split(), _SYLLABLE_LIST.split()


class Words:
    """Running text whose words follow Zipf's law, in English and in Chinese."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        made = dict.fromkeys(_COMMON)
        while len(made) < VOCABULARY:
            made["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4)))] = None
        self.vocabulary = list(made)
        self.weights = list(accumulate(1 / (n + 2) for n in range(len(made))))
        self.names = [self._name() for _ in range(4_000)]
        self.paths = [
            f"src/{rng.choice(self.vocabulary[200:900])}/{rng.choice(self.names)}.py"
            for _ in range(1_500)
        ]
        self.blocks = [self._code(rng.randint(300, 6_000)) for _ in range(400)]

    def prose(self, characters: int) -> str:
        """Sentences of about so many characters, with a name or a path now and then."""
        rng = self.rng
        words = rng.choices(self.vocabulary, cum_weights=self.weights, k=max(2, characters // 6))
        for _ in range(len(words) // 18):
            named = rng.choice(self.names if rng.random() < 0.7 else self.paths)
            words[rng.randrange(len(words))] = f"`{named}`"
        for at in range(9, len(words), rng.randint(8, 16)):
            words[at] += rng.choice([".", ".", ",", ":", ".\n\n-"])
        return " ".join(words).capitalize() + "."

    def chinese(self, characters: int) -> str:
        """The same in Chinese."""
        rng = self.rng
        text = "".join(rng.choices(_CHINESE, k=max(4, characters // 3)))
        cuts = [text[at : at + 17] for at in range(0, len(text), 17)]
        return "，".join(cuts) + f" {rng.choice(self.names)}。"

    def output(self, characters: int) -> str:
        """What a tool prints: code, listings, logs."""
        parts: list[str] = []
        while sum(map(len, parts)) < characters:
            parts.append(self.rng.choice(self.blocks))
        return "\n".join(parts)[:characters]

    def _name(self) -> str:
        parts = self.rng.choices(self.vocabulary[100:3_000], k=2)
        return "_".join(parts) if self.rng.random() < 0.6 else parts[0] + parts[1].capitalize()

    def _code(self, characters: int) -> str:
        lines, size = [], 0
        while size < characters:
            words = self.rng.choices(self.vocabulary, cum_weights=self.weights, k=7)
            name = self.rng.choice(self.names)
            call = f'{words[0]}({words[1]}["{words[2]}"], {words[3]})'
            line = f"{len(lines):6}\t    {name} = {call}  # {' '.join(words)}"
            lines.append(line)
            size += len(line)
        return "\n".join(lines)


def write_transcripts(folder: Path | str, total_bytes: int, seed: int = 1) -> list[Path]:
    """Write transcripts in Claude Code's format under FOLDER/projects; returns their paths."""
    rng = random.Random(seed)  # noqa: S311 - repeatable data
    words = Words(rng)
    root = Path(folder) / "projects"
    written: list[Path] = []
    left = total_bytes
    while left > 0:
        project = f"/home/dev/code/project-{len(written) % 9}"
        session = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        path = root / project.replace("/", "-") / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        size = min(left, int(FILE_BYTES * rng.choice([0.2, 0.5, 1, 1, 2, 4])))
        start = START + timedelta(hours=len(written))
        left -= _write_session(path, words, session, project, start, size)
        written.append(path)
    return written


def write_long_transcript(path: Path, total_bytes: int, seed: int = 2) -> str:
    """Write one transcript of that size; its session ID."""
    rng = random.Random(seed)  # noqa: S311 - repeatable data
    session = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    path = path / "projects" / "-home-dev-long" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_session(path, Words(rng), session, "/home/dev/long", START, total_bytes)
    return session


def typed_line(session: str, cwd: str, text: str, number: int = 0) -> bytes:
    """One prompt of a person, as the client appends it."""
    row = _row(session, cwd, START + timedelta(days=90, seconds=number), uuid.uuid4())
    row |= {
        "type": "user",
        "message": {"role": "user", "content": text},
        "origin": {"kind": "human"},
        "promptSource": "typed",
        "turnOrigin": "human",
    }
    return _dump(row)


def _write_session(
    path: Path, words: Words, session: str, cwd: str, start: datetime, size: int
) -> int:
    is_chinese = words.rng.random() < 0.1
    written = 0
    with path.open("wb") as file:
        for line in _lines(words, session, cwd, start, is_chinese=is_chinese):
            written += file.write(line)
            if written >= size:
                return written
    return written


def _lines(
    words: Words, session: str, cwd: str, start: datetime, *, is_chinese: bool
) -> Iterator[bytes]:
    rng = words.rng
    text = words.chinese if is_chinese else words.prose
    now = start
    yield _dump({"type": "mode", "mode": "normal", "sessionId": session})
    while True:
        now += timedelta(seconds=rng.randint(20, 400))
        yield _user(words, session, cwd, now, text(rng.choice([40, 80, 150, 300, 900])))
        yield _dump(_snapshot(rng, now))
        for _ in range(rng.randint(TOOL_CALLS_A_TURN - 6, TOOL_CALLS_A_TURN + 6)):
            now += timedelta(seconds=rng.randint(1, 20))
            if rng.random() < 0.4:
                yield _assistant(
                    rng, session, cwd, now, {"type": "text", "text": text(rng.randint(60, 400))}
                )
            yield from _tool_round(words, session, cwd, now)
        yield _assistant(
            rng, session, cwd, now, {"type": "text", "text": text(rng.randint(300, 2_000))}
        )
        yield _dump({"type": "last-prompt", "lastPrompt": "…", "sessionId": session})


def _tool_round(words: Words, session: str, cwd: str, now: datetime) -> Iterator[bytes]:
    rng = words.rng
    call = f"toolu_{rng.getrandbits(96):024x}"
    path = f"{cwd}/{rng.choice(words.paths)}"
    block = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": path}}
    yield _assistant(rng, session, cwd, now, block)
    output = words.output(min(200_000, int(rng.lognormvariate(7.6, 1.1))))
    row = _row(session, cwd, now, _uuid(rng))
    row |= {
        "type": "user",
        "message": {
            "role": "user",
            "content": [{"tool_use_id": call, "type": "tool_result", "content": output}],
        },
        "toolUseResult": {"type": "text", "file": {"filePath": path, "content": output}},
    }
    yield _dump(row)
    for _ in range(rng.choice([0, 1, 1, 2])):
        data = {"type": "hook_progress", "hookEvent": "PostToolUse", "command": words.prose(80)}
        yield _dump({**_row(session, cwd, now, _uuid(rng)), "type": "progress", "data": data})


def _user(words: Words, session: str, cwd: str, now: datetime, text: str) -> bytes:
    row = _row(session, cwd, now, _uuid(words.rng))
    row |= {
        "type": "user",
        "message": {"role": "user", "content": text},
        "permissionMode": "acceptEdits",
        "origin": {"kind": "human"},
        "promptSource": "typed",
        "turnOrigin": "human",
    }
    return _dump(row)


def _assistant(
    rng: random.Random, session: str, cwd: str, now: datetime, block: dict[str, Any]
) -> bytes:
    row = _row(session, cwd, now, _uuid(rng))
    row |= {
        "message": {
            "id": f"msg_{rng.getrandbits(96):024x}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 12, "cache_read_input_tokens": 81_210, "output_tokens": 310},
        },
        "requestId": f"req_{rng.getrandbits(96):024x}",
        "type": "assistant",
    }
    return _dump(row)


def _row(session: str, cwd: str, now: datetime, name: uuid.UUID) -> dict[str, Any]:
    return {
        "parentUuid": str(name),
        "isSidechain": False,
        "uuid": str(name),
        "timestamp": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")[:-4] + "Z",
        "userType": "external",
        "entrypoint": "cli",
        "cwd": cwd,
        "sessionId": session,
        "version": "2.1.332",
        "gitBranch": "main",
    }


def _snapshot(rng: random.Random, now: datetime) -> dict[str, Any]:
    name = str(_uuid(rng))
    snapshot = {"messageId": name, "trackedFileBackups": {}, "timestamp": now.isoformat()}
    return {"type": "file-history-snapshot", "messageId": name, "snapshot": snapshot}


def _uuid(rng: random.Random) -> uuid.UUID:
    return uuid.UUID(int=rng.getrandbits(128), version=4)


def _dump(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
