"""Every failure that a caller can meet, each with a stable code.

MashError
├── RuleBroken                    the request is understood and refused; nothing was saved
│   ├── InvalidArgument           invalid_argument
│   ├── TooLarge                  too_large
│   ├── EvidenceRequired          evidence_required
│   ├── QuoteNotFound             quote_not_found
│   ├── MessageNotFound           message_not_found
│   ├── ChatNotFound              chat_not_found
│   ├── SessionNotFound           session_not_found
│   ├── EndorsementRequired       endorsement_required
│   ├── EndorsementNotByPerson    endorsement_not_by_person
│   ├── AgentCitationRequired     agent_citation_required
│   ├── DecidedByPerson           decided_by_person
│   ├── EstablishedRequired       established_required
│   ├── ScopeMismatch             scope_mismatch
│   ├── InvalidState              invalid_state
│   ├── InvalidTransition         invalid_transition
│   ├── NotCurrent                not_current
│   ├── LinkEndpointInvalid       link_endpoint_invalid
│   ├── NotFound                  not_found
│   ├── Forgotten                 forgotten
│   ├── RevisionConflict          revision_conflict
│   ├── OperationConflict         operation_conflict
│   ├── DuplicateRecord           duplicate_record
│   ├── SourceChanged             source_changed
│   ├── PrivateText               private_text
│   ├── CredentialText            credential_text
│   ├── RecordsDisabled           records_disabled
│   └── InvalidCursor             invalid_cursor
├── GroupProblem
│   ├── SharedNotConfigured       shared_not_configured
│   ├── SharedUnavailable         shared_unavailable
│   └── SharedAuthFailed          shared_auth_failed
└── LocalFailure                  retry with the same operation ID
    ├── StoreBusy                 store_busy
    ├── DiskFull                  disk_full
    ├── ReadOnly                  read_only
    ├── StoreDamaged              store_damaged
    ├── Sandboxed                 sandboxed
    ├── UpgradeNeeded             upgrade_needed
    ├── UnsafePlace               unsafe_place
    ├── DaemonUnavailable         daemon_unavailable
    └── Internal                  internal
"""

from typing import Any


class MashError(Exception):
    """Something went wrong."""

    code = "internal"

    def __init__(self, message: str | None = None, **details: Any) -> None:  # noqa: ANN401 - JSON
        super().__init__(message or self.__class__.__doc__)
        self.details: dict[str, Any] = details

    @property
    def message(self) -> str:
        """What failed, with the value, and what to do next."""
        return str(self.args[0])

    def as_json(self) -> dict[str, Any]:
        """The error object of a reply: code, message and, if any, details."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.details:
            body["details"] = self.details
        return body


class RuleBroken(MashError):
    """The request breaks a rule; nothing was saved."""


class InvalidArgument(RuleBroken):
    """An argument is missing, of the wrong type or out of range."""

    code = "invalid_argument"


class TooLarge(RuleBroken):
    """A text or list is over its limit."""

    code = "too_large"


class EvidenceRequired(RuleBroken):
    """A record needs at least one citation."""

    code = "evidence_required"


class QuoteNotFound(RuleBroken):
    """The quote does not stand in the cited message or session."""

    code = "quote_not_found"


class MessageNotFound(RuleBroken):
    """No such message in the indexed chats."""

    code = "message_not_found"


class ChatNotFound(RuleBroken):
    """No such chat in the index."""

    code = "chat_not_found"


class SessionNotFound(RuleBroken):
    """No transcript of that session under the configured roots."""

    code = "session_not_found"


class EndorsementRequired(RuleBroken):
    """An established decision or preference needs the person's own words as endorsement."""

    code = "endorsement_required"


class EndorsementNotByPerson(RuleBroken):
    """The endorsement quotes something that the person did not visibly say."""

    code = "endorsement_not_by_person"


class AgentCitationRequired(RuleBroken):
    """A decision of the agent needs a citation of the agent's own message."""

    code = "agent_citation_required"


class DecidedByPerson(RuleBroken):
    """A decision of the agent never replaces the person's."""

    code = "decided_by_person"


class EstablishedRequired(RuleBroken):
    """A candidate cannot supersede an established record."""

    code = "established_required"


class ScopeMismatch(RuleBroken):
    """The cited chat does not belong to the scope."""

    code = "scope_mismatch"


class InvalidState(RuleBroken):
    """That state is not allowed here."""

    code = "invalid_state"


class InvalidTransition(RuleBroken):
    """A record cannot go from its state to that one."""

    code = "invalid_transition"


class NotCurrent(RuleBroken):
    """Only an established record in force can be confirmed."""

    code = "not_current"


class LinkEndpointInvalid(RuleBroken):
    """One end of the link cannot be linked."""

    code = "link_endpoint_invalid"


class NotFound(RuleBroken):
    """No such record."""

    code = "not_found"


class Forgotten(RuleBroken):
    """That record was removed; its text is gone."""

    code = "forgotten"


class RevisionConflict(RuleBroken):
    """The record has changed since it was read; read it again."""

    code = "revision_conflict"


class OperationConflict(RuleBroken):
    """That operation ID was used for another request; choose a new one."""

    code = "operation_conflict"


class DuplicateRecord(RuleBroken):
    """An identical live record exists."""

    code = "duplicate_record"


class SourceChanged(RuleBroken):
    """The chat has changed since it was read; read it again under a new operation ID."""

    code = "source_changed"


class PrivateText(RuleBroken):
    """The text touches a private span; private text is never stored."""

    code = "private_text"


class CredentialText(RuleBroken):
    """The text holds a credential; say it without, or quote fewer words."""

    code = "credential_text"


class RecordsDisabled(RuleBroken):
    """Records are switched off in the configuration ([records] enabled = false)."""

    code = "records_disabled"


class InvalidCursor(RuleBroken):
    """The cursor is malformed or belongs to another list."""

    code = "invalid_cursor"


class GroupProblem(MashError):
    """The group's server cannot be used."""


class SharedNotConfigured(GroupProblem):
    """No group is configured."""

    code = "shared_not_configured"


class SharedUnavailable(GroupProblem):
    """The group's server cannot be reached."""

    code = "shared_unavailable"


class SharedAuthFailed(GroupProblem):
    """The group's server refused the login."""

    code = "shared_auth_failed"


class LocalFailure(MashError):
    """Nothing is known to be saved; retry with the same operation ID."""


class StoreBusy(LocalFailure):
    """Another program holds the store; nothing was saved. Retry the same operation ID."""

    code = "store_busy"


class DiskFull(LocalFailure):
    """The disk is full; nothing was saved. Free some space and retry the same operation ID."""

    code = "disk_full"


class ReadOnly(LocalFailure):
    """The store cannot be written; nothing was saved. See `mash doctor`."""

    code = "read_only"


class StoreDamaged(LocalFailure):
    """The store is damaged. Run `mash doctor`: it prints the command that restores it."""

    code = "store_damaged"


class Sandboxed(LocalFailure):
    """This shell is sandboxed; use the mash MCP tools, or run the command in your own terminal."""

    code = "sandboxed"


class UpgradeNeeded(LocalFailure):
    """mash was upgraded; restart the agent."""

    code = "upgrade_needed"


class UnsafePlace(LocalFailure):
    """That folder is not safe for memory."""

    code = "unsafe_place"


class DaemonUnavailable(LocalFailure):
    """The mash daemon does not answer; see `mash doctor`. Retry the same operation ID."""

    code = "daemon_unavailable"


class Internal(LocalFailure):
    """Something failed inside mash; the log has the cause. Retry the same operation ID."""

    code = "internal"


def plain_reason(error: BaseException) -> str:
    """Why it failed, for people: without Python's number, and without the path told beside it."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:1].lower() + error.strerror[1:]
    return str(error)
