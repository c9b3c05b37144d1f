"""Check the built documentation: every public name is on a page, and no page loads anything from elsewhere."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import tacit

SITE = Path(__file__).parents[1] / "site"
SIDES = ("protect", "learn", "attack", "theory")


def module_names() -> Iterator[str]:
    """All modules but those of the command line, whose documentation is their ``--help``, and migrations."""
    for found in pkgutil.walk_packages(tacit.__path__, "tacit."):
        if "._" not in found.name and ".migrations" not in found.name and not found.name.startswith("tacit.cli"):
            yield found.name


def public_modules() -> Iterator[ModuleType]:
    """Packages, and the sides of the surfaces: where users import from."""
    for module in map(importlib.import_module, module_names()):
        if hasattr(module, "__path__") or module.__name__.rpartition(".")[2] in SIDES:
            yield module


def exported(module: ModuleType) -> dict[str, object]:
    """What a module lists in ``__all__``."""
    return {name: getattr(module, name) for name in getattr(module, "__all__", ())}


def is_code(thing: object) -> bool:
    """True for classes and functions, which the reference shows."""
    return inspect.isclass(thing) or inspect.isroutine(thing)


def is_shown(pages: str, module: str, name: str, thing: object) -> bool:
    """In the reference, under whatever path of its area it is imported from; what is no code, in the text by name."""
    area = module.split(".")[1]
    in_reference = re.search(rf'id="tacit\.{area}(?:\.\w+)*\.{name}"', pages)
    return bool(in_reference or (not is_code(thing) and re.search(rf"<code>[^<]*\b{name}\b", pages)))


def find_faults(pages: str) -> list[str]:
    """What is wrong with the text of all pages, a sentence each."""
    names = [(m.__name__, name, thing) for m in public_modules() for name, thing in exported(m).items()]
    missing = [
        f"{module}.{name} is on no page" for module, name, thing in names if not is_shown(pages, module, name, thing)
    ]
    loaded = re.findall(r'<(?:link|script|img)[^>]+(?:href|src)="((?:https?:)?//[^"]+)"', pages)
    return missing + [f"a page loads {address}" for address in loaded]


def main() -> int:
    """Say what is wrong with the site that ``mkdocs build`` wrote, and return 1 if something is."""
    faults = find_faults("\n".join(page.read_text(encoding="utf-8") for page in SITE.rglob("*.html")))
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
