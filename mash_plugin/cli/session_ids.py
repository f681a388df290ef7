"""The ID of a session as an option takes it."""

import click

from mash_plugin.wording import NEWEST


class SessionId(click.ParamType[str]):
    """Some text: a shell variable that is empty must not come to mean the newest session."""

    name = "id"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """The ID, or a usage error."""
        text = str(value)
        if not text.strip():
            self.fail(
                f"it is empty and names no session; `{NEWEST}` is the last one, `mash log` names"
                " others.",
                param,
                ctx,
            )
        return text
