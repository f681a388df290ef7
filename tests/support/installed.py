"""A person whose agents have the plugin, installed by the product's own command."""

import re
import uuid
from dataclasses import dataclass

from tests.support import fake_anthropic
from tests.support.fake_anthropic import FakeAnthropic
from tests.support.fake_openai import FakeOpenAI
from tests.support.homes import Home
from tests.support.saving import LOAD_RECORD, claude_records
from tests.support.tmux import Terminal


@dataclass
class Installed:
    """A home into which `mash init` put the plugin, with the two models behind its agents."""

    home: Home
    anthropic: FakeAnthropic
    openai: FakeOpenAI
    init_output: str
    hooks_before_trust: dict[str, str]

    def decide(self, terminal: Terminal, prompt: str, statement: str) -> str:
        """Type a decision into Claude Code, whose model saves it with these very words."""
        done = f"saved as said: {uuid.uuid4().hex[:8]}"
        records = claude_records(statement, prompt)
        self.anthropic.when(re.escape(prompt), LOAD_RECORD, records, {"text": done})
        terminal.type(prompt)
        terminal.wait_for(done)
        return self.receipt()

    def receipt(self) -> str:
        """What the newest call of a tool in Claude Code answered."""
        results = map(fake_anthropic.tool_results, reversed(self.anthropic.bodies))
        return next(found[-1] for found in results if found)
