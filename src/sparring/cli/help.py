"""How `--help` looks: plain text that fits any width, without cutting the name of a command or option.

What cannot be understood on the command line is told in one line (`wrong_usage`), as all bad input is.
"""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import typer
import typer.core

_Function = TypeVar("_Function", bound=Callable[..., Any])

UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""What typer raises for words that it does not understand; it has no public name there."""

_FIRST = ("train", "evaluate", "play", "games", "presets", "settings")
"""What newcomers need, at the top of the list."""
_VALUES = {"str": "TEXT", "int": "N", "int range": "N", "float": "X", "float range": "X", "path": "PATH"}
"""The placeholder after an option, by the type of its value."""
_PLAINER = {
    "Input should be a valid integer, unable to parse string as an integer": "not a whole number",
    "Input should be a valid number, unable to parse string as a number": "not a number",
    "Input should be greater than or equal to": "must be at least",
    "Input should be less than or equal to": "must be at most",
    "Input should be": "must be",
    "Value error, ": "",
    "Got unexpected extra argument(s)": "unexpected argument",
    "Got unexpected extra arguments": "unexpected arguments",
}
"""What typer says, and how we say it."""


class Command(typer.core.TyperCommand):
    """A command with readable names for arguments and values: `sparring train PRESET --seed N`."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What follows the command's name in its usage line."""
        pieces = ["[OPTIONS]"]
        for argument in self._arguments(ctx):
            name = _named(argument)
            pieces.append((name if argument.required else f"[{name}]") + ("..." if argument.nargs != 1 else ""))
        return pieces

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes where a command's game settings are listed, if it takes any, and the example."""
        if ctx.ignore_unknown_options:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text("All settings of a game: sparring settings GAME")
        super().format_epilog(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the lists of arguments and options."""
        arguments = [(_named(one), _text(one, ctx).removesuffix("[required]").strip()) for one in self._arguments(ctx)]
        options = []
        parameters: list[Any] = self.get_params(ctx)
        for option in parameters:
            if option.param_type_name == "option" and not option.hidden:
                shown = str(option.display_type_rich(ctx) or "").strip("<>")
                if not option.is_flag:
                    option.metavar = _VALUES.get(shown, shown)
                options.append(option.get_help_record(ctx))
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def _arguments(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = self.get_params(ctx)
        return [one for one in parameters if one.param_type_name == "argument" and not one.hidden]


def _named(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _text(argument: Any, ctx: Any) -> str:
    return str(argument.get_help_record(ctx)[1])


def wrong_usage(error: Any) -> str:
    """A `UsageError` in one line, with the option that was meant or where to read what there is."""
    from sparring.core.errors import did_you_mean

    option = getattr(error, "option_name", "")
    meant = _as_override(option, error.ctx) or did_you_mean(option, getattr(error, "possibilities", None) or ())
    problem = str(error.message if meant or error.message else error.format_message())
    for wordy, plain in _PLAINER.items():
        problem = problem.replace(wordy, plain)
    problem = f"{problem[:1].lower()}{problem[1:]}".rstrip(".") + meant
    parameter = getattr(error, "param", None)
    if parameter is not None:
        name = parameter.opts[0] if parameter.param_type_name == "option" else _named(parameter)
        problem = problem.replace(f"'{parameter.name}'", name) if not error.message else f"{name}: {problem}"
        if parameter.name == "game" and not error.message:
            from sparring.core.game import game_names

            problem += f"; games: {', '.join(game_names())}"
    return problem if error.ctx is None else f"{problem}; see: {error.ctx.command_path} --help"


def _as_override(option: str, ctx: Any) -> str:
    """How a command that takes key=value is told what somebody wrote as an option; empty if it is no such key."""
    if ctx is None or "overrides" not in {parameter.name for parameter in ctx.command.params}:
        return ""
    from sparring.training.presets import full_key

    key = full_key(option.lstrip("-").replace("-", "_"))
    return "" if key is None else f" (here settings are key=value: {key}=...)"


class Commands(typer.core.TyperGroup):
    """A group of commands that lists each with the whole first sentence of its help, by section.

    A command's section is its `rich_help_panel`. Alone, it prints its help.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the words after the group's name."""
        if not args and not ctx.resilient_parsing:
            print(ctx.get_help(), file=sys.stderr)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first of `args` names."""
        from sparring.core.errors import InputError, did_you_mean

        known = self.list_commands(ctx)
        if args[0] not in known:
            words = f"{ctx.command_path} {args[0]}".removeprefix("sparring ")
            meant = did_you_mean(args[0], known)
            raise InputError(f"no such command: {words}{meant}; see: {ctx.command_path} --help")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names in the order that help shows them."""
        names = super().list_commands(ctx)
        return [name for name in _FIRST if name in names] + [name for name in names if name not in _FIRST]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the sections of the list of commands."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                section = getattr(command, "rich_help_panel", None) or "Commands"
                sections.setdefault(section, []).append((name, (command.help or "").partition("\n")[0]))
        width = max(len(name) for rows in sections.values() for name, _ in rows)
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), text) for name, text in rows])


class App(typer.Typer):
    """A typer app whose help looks like this."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=Commands, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[_Function], _Function]:
        """Makes a command of a function."""
        return super().command(name, cls=Command, **options)
