"""Hooks of other memories for coding agents beside ours, in one run."""

import json
import re
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from bench_peer_homes import PEERS, NotHere, Peer
from bench_place import Place
from bench_table import NOT_MEASURED, Line
from bench_timing import time_process

OURS = {"SessionStart": "session-start", "UserPromptSubmit": "prompt-submit"}
ITEM = re.compile(r"case \d+")
MOST_OF_CLAUDE_MEM = 0.05
LEAST_ROUNDS = 3


class Round(NamedTuple):
    """Seconds of the three that ran one after the other."""

    floor: float
    ours: float
    theirs: float


def peers(place: Place, rounds: int) -> Iterator[Line]:
    """Each of their hooks that an agent waits for, beside the bare interpreter and ours.

    The three run one after the other, over and over. Each memory holds as many items as ours;
    what it says is counted, so that none is quick unseen because it had nothing to say.
    """
    with Place(1, place.peer_items, place.peer_items) as ours:
        ours.busy.settled_daemon()
        for name, install in PEERS.items():
            try:
                peer = install(place.peer_items)
            except NotHere as why:
                note = f"not measured here: {why}"
                yield Line(f"hooks of {name}", NOT_MEASURED, "", note=note, key=f"peers/{name}")
                continue
            try:
                for number, (event, _) in enumerate(peer.hooks):
                    yield from _hook(ours, peer, number, event, max(rounds // 6, LEAST_ROUNDS))
            finally:
                peer.close()


def _hook(place: Place, peer: Peer, number: int, event: str, rounds: int) -> Iterator[Line]:
    command = ["/bin/bash", "-c", peer.hooks[number][1]]
    timed, said, ours_said = [], [], []
    for _ in range(rounds):
        floor, _out = time_process(place.floor(), b"", place.env, place.project)
        payload = place.told_payload(OURS[event])
        ours, out = time_process(place.hook(OURS[event]), payload, place.env, place.project)
        ours_said.append(out)
        theirs, out = time_process(command, _payload(payload, peer), peer.env, peer.project)
        said.append(out)
        peer.settle()
        timed.append(Round(floor, ours, theirs))
    same = [n for n, (of, _) in enumerate(peer.hooks) if of == event]
    which = f" ({same.index(number) + 1} of {len(same)})" if len(same) > 1 else ""
    name = f"{peer.name} {event}{which}"
    ratio = median(one.theirs / one.floor for one in timed)
    took = f"{median(one.theirs for one in timed) * 1000:.0f} ms; {_shown(said)}; {peer.note}"
    yield Line(f"{name} / bare interpreter", ratio, "x", note=took, key=f"peers/{name}")
    ratio = median(one.ours / one.floor for one in timed)
    key = f"peers/mash {event}"
    yield Line(f"  mash {event}, same rounds", ratio, "x", note=_shown(ours_said), key=key)
    ratio = median(one.ours / one.theirs for one in timed)
    is_promised = (peer.name, event) == ("claude-mem", "UserPromptSubmit")
    most = MOST_OF_CLAUDE_MEM if is_promised else None
    yield Line(f"  mash {event} / {name}", ratio, "x", most)


def _payload(payload: bytes, peer: Peer) -> bytes:
    """The same for a session in the peer's project, as its host would tell it."""
    told = json.loads(payload)
    transcript = peer.project / f"{told['session_id']}.jsonl"
    return json.dumps(
        told | {"cwd": str(peer.project), "transcript_path": str(transcript)}
    ).encode()


def _shown(said: list[bytes]) -> str:
    """How much a hook said, and how many of the stored items are in it."""
    texts = [out.decode(errors="replace") for out in said]
    items = median(len(set(ITEM.findall(text))) for text in texts)
    silent = sum(text.strip() in ("", "{}") for text in texts)
    if silent == len(texts):
        return "says nothing"
    return f"says {median(map(len, texts)):.0f} bytes, {items:g} items"
