"""The two frames on the daemon's Unix socket, byte for byte (decisions 2.2).

Hook frame, one per connection, at most HOOK_LIMIT bytes of body:

    mash/1 hook NAME AGENT KEY=VALUE ...\\n        values percent-escaped (RFC 3986)
    <the bytes of the hook's stdin, as they come>

The daemon answers as soon as the body holds one whole JSON object, or at the end of input,
with the bytes to print, and closes. Keys: the MASH_* switches, CLAUDE_CONFIG_DIR, CODEX_HOME.

Tool frame, one per connection, at most TOOL_LIMIT bytes, one line each way:

    {"v":1,"method":"recall_records","params":{...},"caller":{...}}\\n
    {"v":1,"result":{...}}\\n    or    {"v":1,"error":{"code":...,"message":...,"details":...}}\\n

`caller` is optional: {"agent": str, "session_id": str, "tool_use_id": str, "terminal": bool,
"now_ms": str}. `now_ms` is obeyed only by a daemon that was started with MASH_TESTING=1.

Lease frame, held open by `mash mcp` so that the daemon lives while agents do:

    mash/1 lease\\n

The version travels in the first line of each; there is no extra round trip.
"""

PROTOCOL = 1
HOOK_LIMIT = 1 << 20
TOOL_LIMIT = 4 << 20
HOOK_PREFIX = b"mash/"
