"""How a group of commands is listed in its help, and how an error names the option that it is about."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

from typer.core import TyperGroup

from tacit.privacy.errors import InvalidInput

__all__ = ["CommandListing", "name_values", "usage_sentence"]

_RULE = re.compile(r"Input should be (.*?)(?:, (?:unable|input) .*)?$")
_CHOICE = re.compile(r"Value error, (.*) is not one of (.*?)\.?$")
_WORDS = {
    "a valid integer": "an integer",
    "a valid number": "a number",
    "a valid datetime or date": "a date such as 2027-01-31",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
}


_KINDS: dict[object, str] = {int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "FILE", datetime: "TIME"}
_KINDS |= {list[str]: "TEXT", list[Path]: "FILE"}


def name_values(command: Any) -> None:  # noqa: ANN401
    """Name the value of each option that has no name of its own by its kind, as in ``--out FILE``, not ``<path>``."""
    for part in getattr(command, "commands", {}).values():
        name_values(part)
    for param in command.params:
        if param.param_type_name == "option" and param.metavar is None and not param.is_flag:
            described = getattr(param, "type_descriptor", None)
            param.metavar = _KINDS.get(getattr(described, "annotation", None))


class CommandListing(TyperGroup):
    """A group whose help has the whole first sentence of each command: typer cuts it at the end of the line."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        """Run the command that was named; what the library refuses is said in the command's own options."""
        try:
            return super().invoke(ctx)
        except InvalidInput as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            if command is not None:
                error.args = (_in_options(error, command),)
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write name and sentence of each command, over as many lines as it takes."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, command.get_short_help_str(1000)) for name, command in found if command and not command.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def _in_options(error: InvalidInput, command: Any) -> str:  # noqa: ANN401
    """The sentence with the command's own word for the field that it is about."""
    for param in command.params:
        if param.name == error.field:
            is_argument = param.param_type_name == "argument"
            return error.worded(param.metavar or param.name.upper() if is_argument else param.opts[0])
    return str(error)


def usage_sentence(error: Any) -> str:  # noqa: ANN401
    """Return which option is wrong, what it must be, and where its help is."""
    where = error.ctx.command_path if getattr(error, "ctx", None) else "tacit"
    param, message = getattr(error, "param", None), getattr(error, "message", "")
    if param is not None and (rule := _RULE.match(message)):
        wanted = rule[1]
        for theirs, ours in _WORDS.items():
            wanted = wanted.replace(theirs, ours)
        said = f"{param.opts[0]} must be {wanted}"
    elif param is not None and (choice := _CHOICE.match(message)):
        names = choice[2].replace("'", "")
        said = f"{param.opts[0]} must be one of {names}, got {choice[1]}"
    else:
        said = error.format_message().rstrip(".")
    return f"{said}; see {where} --help"
