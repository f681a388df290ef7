"""Export and import: a store as one file, and back (R-161 to R-164).

The format, version 1
---------------------
A gzip stream of JSON Lines in UTF-8. Each line is one object exactly as `orjson.dumps` writes
it: no spaces, each key once, in the order given here. `is` names its kind. Times are Unix
milliseconds, bytes are lower-case hex, a value that is not known is null. Kinds follow each
other in this order; those marked * stand only in a complete export.

    header      format made_by made_at node generation owner complete masked scopes
    owner       id label origin created_at
    chat        id source session parent_session title project_path repository started_at
                last_active_at is_subagent indexed_at
    message     of the chat before it, in order: id role author text person_text is_all_typed
                is_headless has_private sent_at tool_use_ids private
    record      id owner kind scope_kind scope_value hidden_at hidden_by
    revision    of the record before it, from 1 up: revision statement recorded_by review state
                decided_by effective_at valid_until reported_by alternatives consequences
                conditions recorded_at session_id origin evidence confirmations checksum
    link        from to relation from_revision to_revision recorded_at session_id
    checkpoint  owner chat scope_kind scope_value source_fingerprint record_count processed_at
    keys*       receipt_secret private_key
    receipt*    owner op_key status request_key receipt recorded_at records
    forgotten*  kind name at       (`record` and its ID, or `chat` and its keyed hash)
    imported*   id kind source checksum chat records imported_at made
    end         lines counts sha256

`evidence` is a list of objects: chat_id message_id quote purpose role author message_text status
added_by recorded_at. `confirmations` is a list of [message ID, time, session]. `checksum` is the
SHA-256 that the store keeps of a revision: of the record's place, its row and its citations.
`private` holds keyed hashes of private text, never the text. `counts` says how many lines there
are of each kind, `lines` how many before this one, `sha256` is over all bytes before this line.
A file without its last line, or whose sum does not hold, is not taken in.

What an older mash cannot read gets a higher `format`. Files are private (0600): they hold the
text of records, quotes and chats, and a complete one also the secret that receipts are keyed with.
"""
