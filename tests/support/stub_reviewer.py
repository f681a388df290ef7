"""A client that stands in for Claude Code in headless mode: quick, and able to do anything.

STUB says how it ends: save, empty, hang, deaf (hang, and ignore SIGTERM), crash, garbage, quota,
refusal, or changed (the chat goes on meanwhile). It writes one line into STUB_LOG for every
start. Only what costs little is imported: it runs often.
"""

import json
import os
import signal
import subprocess
import sys
import time
import uuid

STATEMENT = "Amounts are kept in cents."


def main() -> int:
    """What `claude` does with these arguments."""
    if sys.argv[-2:] == ["auth", "status"]:
        say({"loggedIn": os.environ.get("STUB_SIGNED_IN", "yes") == "yes"})
        return 0
    prompt = sys.stdin.read()
    how = os.environ.get("STUB", "save")
    log({"pid": os.getpid(), "how": how, "cwd": os.listdir(), "environment": dict(os.environ)})
    if how in ("hang", "deaf"):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        signal.signal(signal.SIGTERM, signal.SIG_IGN if how == "deaf" else signal.SIG_DFL)
        time.sleep(600)
    if how in ("crash", "garbage"):
        sys.stdout.write("Segmentation fault, or so" if how == "crash" else "{]")
        return how == "crash"
    if how == "quota":
        return end("Claude usage limit reached. Your limit will reset at 3pm.", is_error=True)
    if how == "refusal":
        return end("I can't help with that.")
    return review(prompt, how)


def review(prompt: str, how: str) -> int:
    """Save by the very request that the server of the review would make."""
    from mash_plugin.client import call
    from mash_plugin.errors import MashError

    bound = json.loads(read(argument_after("--mcp-config")))
    request = json.loads(read(bound["mcpServers"]["mash"]["args"][-1]))
    first, last = request.pop("first_mark"), request.pop("last_mark")
    assert f"\nfirst_mark: {first}\n" in prompt
    assert f"\nlast_mark: {last}\n" in prompt
    request["records"] = [] if how == "empty" else [draft(prompt)]
    if how == "changed":
        go_on(os.environ["STUB_TRANSCRIPT"])
    try:
        call("extract_records", request)
    except MashError as error:
        return end(error.message)
    return end("done", {"outcome": "saved", "reason": ""})


def draft(prompt: str) -> dict[str, object]:
    """One decision that cites the first message."""
    message = json.loads(prompt.partition(" begin\n")[2].partition("\n")[0])
    body = {"statement": STATEMENT, "details": {"kind": "decision", "state": "accepted"}}
    evidence = [{"message_id": message["id"], "quote": message["text"][:40]}]
    return {"body": body, "evidence": evidence}


def go_on(transcript: str) -> None:
    """Say the newest line of a chat once more, as a new message."""
    row = json.loads(read(transcript).splitlines()[-1])
    with open(transcript, "a") as file:
        file.write(json.dumps(row | {"uuid": str(uuid.uuid4())}) + "\n")


def end(said: str, result: object = None, is_error: bool = False) -> int:
    """Print the one object of `claude -p --output-format json`."""
    say({"result": said, "is_error": is_error, "structured_output": result})
    return int(is_error)


def say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")


def log(entry: dict[str, object]) -> None:
    with open(os.environ["STUB_LOG"], "a") as file:
        file.write(json.dumps(entry) + "\n")


def argument_after(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def read(path: str) -> str:
    with open(path) as file:
        return file.read()


if __name__ == "__main__":
    sys.exit(main())
