"""How `--help` looks: plain text that fits any width, with no name of a command or option cut."""

from typing import Any

import typer.core

_FIRST = ("train", "evaluate", "play", "games", "presets", "settings")
"""What newcomers need, at the top of the list."""


class Commands(typer.core.TyperGroup):
    """A group of commands that lists each with the whole first sentence of its help."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names in the order that help shows them."""
        names = super().list_commands(ctx)
        return [name for name in _FIRST if name in names] + [name for name in names if name not in _FIRST]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the list of commands."""
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                rows.append((name, (command.help or "").partition("\n")[0]))
        with formatter.section("Commands"):
            formatter.write_dl(rows)
