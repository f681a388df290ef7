"""Check a request and say in our own words what is wrong with it."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mash_plugin.errors import (
    EvidenceRequired,
    InvalidArgument,
    InvalidState,
    MashError,
    TooLarge,
)
from mash_plugin.protocol.requests import REQUESTS

MAX_DEPTH = 32
_WANTED = {
    "int_type": "a whole number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_SAYS_LEAST = {"extra_forbidden": 2, "list_type": 1, "string_type": 1}


def validate(
    method: str, params: Mapping[str, Any], requests: Mapping[str, type[BaseModel]] = REQUESTS
) -> dict[str, Any]:
    """The request with its defaults filled in and its omissions left out.

    Raises InvalidArgument, TooLarge, EvidenceRequired or InvalidState; the message names the
    field and what is allowed there.
    """
    model = requests.get(method)
    if model is None:
        raise InvalidArgument(f"There is no method {method!r}; known: {', '.join(requests)}.")
    if not isinstance(params, Mapping):
        raise InvalidArgument("The arguments must be one JSON object.")
    try:
        request = model.model_validate(_clean(params, MAX_DEPTH))
    except ValidationError as error:
        raise _as_ours(error.errors(include_url=False)) from None
    return request.model_dump(exclude_none=True)


def _clean(value: Any, depth: int) -> Any:  # noqa: ANN401 - JSON
    """Leave nulls out (they count as omitted) and replace lone surrogates."""
    if depth == 0:
        raise InvalidArgument("The arguments are nested too deeply.")
    if isinstance(value, Mapping):
        return {_whole(str(k)): _clean(v, depth - 1) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [_clean(v, depth - 1) for v in value]
    return _whole(value) if isinstance(value, str) else value


def _whole(text: str) -> str:
    if text.isascii():
        return text
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def _as_ours(errors: list[ErrorDetails]) -> MashError:
    """The first error that says most: of a union, each choice complains."""
    first = min(errors, key=lambda e: _SAYS_LEAST.get(e["type"], 0))
    error = _error(first, _field(first["loc"]), _missing_too(first, errors))
    match first["loc"]:
        case ("records", int(draft), *_):
            error.details["draft"] = draft
    return error


def _missing_too(first: ErrorDetails, errors: list[ErrorDetails]) -> str:
    """What else lacks where something lacks: one try for each would be a guessing game."""
    if first["type"] != "missing":
        return ""
    missing = [e["loc"] for e in errors if e["type"] == "missing" and e is not first]
    beside = [_field(loc) for loc in missing if loc[:-1] == first["loc"][:-1]]
    return f", and so is {', '.join(beside)}" if beside else ""


def _error(first: ErrorDetails, field: str, also: str) -> MashError:
    match first["type"]:
        case "string_too_long" | "too_long":
            limit = first.get("ctx", {}).get("max_length")
            unit = "characters" if first["type"] == "string_too_long" else "items"
            return TooLarge(f"{field} is too long: at most {limit} {unit}.", field=field)
        case "no_evidence":
            return _no_evidence(f"{field}.evidence")
        case "too_short" | "missing" if field.endswith("evidence"):
            return _no_evidence(field)
        case "retired_state":
            return InvalidState(f"{field}: {first['msg']}.", field=field)
        case _:
            return InvalidArgument(f"{field}: {_wording(first)}{also}.", field=field)


def _no_evidence(field: str) -> EvidenceRequired:
    return EvidenceRequired(f"{field}: a record needs at least one citation.", field=field)


def _wording(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    if wanted := _WANTED.get(error["type"]):
        return f"must be {wanted}"
    match error["type"]:
        case "missing":
            return "is required"
        case "extra_forbidden":
            return "is no field of this request; check its name"
        case "literal_error":
            return f"must be one of {context['expected']}{_shown(error['input'])}"
        case "greater_than_equal":
            return f"must be at least {context['ge']}{_shown(error['input'])}"
        case "less_than_equal":
            return f"must be at most {context['le']}{_shown(error['input'])}"
        case "string_too_short" | "too_short":
            return "must not be empty"
        case "string_pattern_mismatch":
            return "must be 1 to 64 letters, digits, - or _"
        case _:
            return error["msg"].removeprefix("Input should be ").rstrip(".")


def _shown(value: object) -> str:
    """The refused value, where it is short enough to be a typing error and not content."""
    text = repr(value)
    return f"; got {text}" if len(text) <= 24 else ""


def _field(location: tuple[int | str, ...]) -> str:
    """`change.evidence[2].quote`, without the names that pydantic adds for unions."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part.replace("_", "").isalpha() and part.islower() and part not in ("str", "list"):
            path += f".{part}" if path else part
    return path or "arguments"
