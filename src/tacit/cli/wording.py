"""A refusal in the words of the command line: the library names arguments, whoever typed a command knows options."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

__all__ = ["in_options"]

_OTHER_NAMES = {"share": "prior_share"}  # ours: the option's


def in_options(sentence: str, command: Any) -> str:  # noqa: ANN401
    """Return the sentence with the arguments that it names as the command's options, if it names some.

    Parameters
    ----------
    sentence
        What the library refused with. One that begins with an option was written for the command line.
    command
        The command that was run: its parameters say what the options are called.

    Examples
    --------
    >>> from tacit.cli.app import load_area
    >>> protect = load_area("labels").commands["protect"]
    >>> in_options("rows_per_person must be a whole number >= 1, got 0", protect)
    '--rows-per-person must be a whole number >= 1, got 0'
    >>> in_options("restate the guarantee for one row with for_group(rows=2)", protect)
    'restate the guarantee for one row with --rows-per-person 2'
    """
    if sentence.startswith("--"):
        return sentence
    options = _options(command)
    listed = [param for param in command.params if isinstance(param.default, StrEnum)]
    choices = {str(choice): options[param.name] for param in listed for choice in type(param.default)}

    def value(found: re.Match[str]) -> str:
        word = found["word"].lower() if found["call"] else found["word"]
        return f"{options[found['name']]} {word}" if found["name"] in options else found[0]

    def choice(found: re.Match[str]) -> str:
        word = found["word"].lower()
        return f"{choices[word]} {word}" if word in choices else found[0]

    said = re.sub(r"^(\w+)(?= must | names no | needs )", lambda found: options.get(found[1], found[1]), sentence)
    said = re.sub(r"(?<![\w:,'\"])(?P<name>\w+)=(?P<word>[\w.]*\w)(?P<call>\(\))?", value, _restated(said, options))
    return re.sub(r"\b(?P<word>[A-Z]\w+)\(\)", choice, said)


def _options(command: Any) -> dict[str, str]:  # noqa: ANN401
    """Return the option, or the word of the usage line, of each argument."""
    shown = {
        param.name: param.metavar or param.name.upper()
        if param.param_type_name == "argument"
        else max(param.opts, key=len)
        for param in command.params
    }
    return shown | {other: shown[name] for other, name in _OTHER_NAMES.items() if name in shown and other not in shown}


def _restated(sentence: str, options: dict[str, str]) -> str:
    """Put an option for what a program would do to its guarantee, or say that there is none."""
    said = re.sub(r"restate it with for_unit\(.*?\), or ", "", sentence)
    if "missing" in options:
        said = said.replace(
            "declare which rows are missing public", f"declare that public by {options['missing']} public"
        )
    if "rows_per_person" in options:
        return re.sub(r"for_group\(rows=(\d+)\)", rf"{options['rows_per_person']} \1", said)
    return re.sub(r"restate the guarantee .*for_group\(rows=\d+\)", "this command states it for one row alone", said)
