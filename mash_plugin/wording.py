"""Words that notes, instructions and descriptions share, so that they can never disagree."""

RECORD = "record"
RECALL = "recall_records"
GET_RECORD = "get_record"
LIST_RECORDS = "list_records"
FIND_MATCHES = "find_record_matches"
GET_CHECKPOINT = "get_extraction_checkpoint"
EXTRACT = "extract_records"
SEARCH_CHATS = "search_chats"
GET_CHAT = "get_chat"
LIST_CHATS = "list_chats"
TOOLS = (
    *(RECORD, RECALL, GET_RECORD, LIST_RECORDS, FIND_MATCHES),
    *(GET_CHECKPOINT, EXTRACT, SEARCH_CHATS, GET_CHAT, LIST_CHATS),
)
WRITING = frozenset((RECORD, EXTRACT))
"""The tools that save; one that asks for a checkpoint may only refresh the index of a chat."""
SKILLS = ("remember", "recall", "forget", "review-chat")

NEWEST = "newest"
"""The last one, wherever a command takes the ID of a session or of a chat."""

OCCASIONS = (
    "states a lasting preference",
    "makes or confirms a decision",
    "corrects how you work",
    "settles a non-obvious fact",
)
"""What the person does when something is to be saved (R-124)."""
WHEN_TO_SAVE = f"when the person {', '.join(OCCASIONS[:-1])}, or {OCCASIONS[-1]}"


def counted(count: int, what: str) -> str:
    """A number with its word in the right form."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
