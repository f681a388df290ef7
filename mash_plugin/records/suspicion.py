"""A flag, not a filter: does a text try to steer the agent that will read it?"""

import re
from functools import cache

from mash_plugin.normal_form import normal_form
from mash_plugin.records.model import Body

_MARKS = (
    r"ignore (?:all |any )?(?:the )?(?:previous|prior|above|earlier) (?:instruction|rule|prompt)"
    r"|disregard (?:all |any )?(?:the )?(?:previous|prior|above|earlier)"
    r"|(?:new|updated) (?:system )?instructions?\s?:"
    r"|system prompt|you (?:must|should) (?:now|always|never)\b"
    r"|do not (?:tell|inform|mention to) the user|without (?:asking|telling) the user"
    r"|</?(?:system|assistant|user|human|tool|function|memory|instructions?)[\w-]*>?"
    r"|<system-reminder|\[/?inst\]|<\|"
    r"|\b(?:curl|wget)\b[^\n]{0,200}\|\s?(?:sudo )?(?:ba|z|da)?sh\b"
    r"|\b(?:always|first) run (?:curl|wget|npx|bash|sh|python)\b"
    r"|https?://[^\s]{1,300}\?[^\s]"
    r"|!\[[^\]]{0,100}\]\("
    r"|[a-z0-9+/]{80,}={0,2}"
)
_INVISIBLE = (
    "[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff"
    "\x00-\x08\x0b-\x1f\x7f]"
)


def reads_like_instruction(body: Body) -> bool:
    """Whether a text of the body looks like an instruction to an agent or hides characters."""
    marks, invisible = _patterns()
    return any(marks.search(_as_read(text)) or invisible.search(text) for text in body.texts)


def _as_read(text: str) -> str:
    """Whatever its spaces and letter forms, the words that a reader sees."""
    return " ".join(normal_form("NFKC", text).split())


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(_MARKS, re.IGNORECASE), re.compile(_INVISIBLE)
