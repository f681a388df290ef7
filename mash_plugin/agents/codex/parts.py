"""The parts of a rollout's items: texts with their kinds, pictures, outputs of tools."""

import re
from typing import Any

_IMAGE_TAG = re.compile(r"\s*(?:<image\b[^>]*>|</image>)\s*")


def typed_parts(
    content: object, kinds: list[Any], inner: dict[str, Any]
) -> tuple[list[str], list[tuple[str, str]]]:
    """The typed texts of a user item, and (kind, text) of all its other texts."""
    marks = inner.get("content_item_metadata")
    marks = marks if isinstance(marks, list) else []
    typed, other = [], []
    for at, part in enumerate(content if isinstance(content, list) else []):
        text = part.get("text") if isinstance(part, dict) else None
        if not isinstance(text, str) or _IMAGE_TAG.fullmatch(text):
            continue
        kind = str(kinds[at]) if at < len(kinds) else "unknown"
        mark = marks[at] if at < len(marks) else None
        origin = mark.get("provenance") if isinstance(mark, dict) else None
        writer = origin.get("type") if isinstance(origin, dict) else None
        if kind == "user.text" and writer == "user":
            typed.append(text)
        elif not (isinstance(origin, dict) and origin.get("hook")):
            other.append((kind, text))
    return [text for text in typed if text.strip()], other


def text_of(content: object) -> str:
    """All texts of a content value, without the marks that stand around a picture."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part.get("text") for part in content if isinstance(part, dict))
    return "\n".join(
        text for text in parts if isinstance(text, str) and not _IMAGE_TAG.fullmatch(text)
    )


def output_of(output: object) -> str:
    """The text of a tool's output, which was a string, an object or a list over the years."""
    if isinstance(output, dict):
        output = output.get("content", output.get("output"))
    return text_of(output)


def is_same(item: str, event: str) -> bool:
    """Whether an item and an event hold one prompt: the item may hold image marks behind it."""
    item, event = item.strip(), event.strip()
    return item == event or item.startswith(event + "\n")
