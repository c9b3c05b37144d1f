"""Every public name has a docstring, and a place in the documentation."""

import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown import markdown

import tacit

ROOT = Path(__file__).parents[1]
SIDES = ("protect", "learn", "attack", "theory")


def module_names():
    """All modules but those of the command line, whose documentation is their ``--help``, and migrations."""
    for found in pkgutil.walk_packages(tacit.__path__, "tacit."):
        if "._" not in found.name and ".migrations" not in found.name and not found.name.startswith("tacit.cli"):
            yield found.name


def public_modules():
    """Packages, and the sides of the surfaces: where users import from."""
    for module in map(importlib.import_module, module_names()):
        if hasattr(module, "__path__") or module.__name__.rpartition(".")[2] in SIDES:
            yield module


def is_code(thing):
    return inspect.isclass(thing) or inspect.isroutine(thing)


def exported(module):
    return {name: getattr(module, name) for name in getattr(module, "__all__", ())}


def methods(cls):
    """Public methods that tacit wrote, its own or inherited; not properties, nor a protocol's: nothing to run."""
    for owner in cls.__mro__:
        if owner.__module__.startswith("tacit") and not getattr(owner, "_is_protocol", False):
            for name, member in vars(owner).items():
                function = getattr(member, "__func__", member)
                if not name.startswith("_") and inspect.isfunction(inspect.unwrap(function)):
                    yield name, function


def has_docstring(thing):
    return bool((inspect.getdoc(thing) or "").strip())


def undocumented(cls_or_function, name):
    """Names that lack a docstring."""
    if not has_docstring(cls_or_function):
        yield name
    if inspect.isclass(cls_or_function):
        own = {method for method, _ in methods(cls_or_function)}
        yield from (f"{name}.{method}" for method in own if not has_docstring(getattr(cls_or_function, method)))


@pytest.mark.parametrize("module_name", list(module_names()))
def test_modules_say_what_they_are_for_and_what_they_export(module_name):
    module = importlib.import_module(module_name)
    assert module.__doc__
    assert hasattr(module, "__all__")


def test_public_names_have_docstrings():
    missing = {
        f"{thing.__module__}.{lack}"
        for module in public_modules()
        for name, thing in exported(module).items()
        if is_code(thing)
        for lack in undocumented(thing, name)
    }
    assert not missing, "without a docstring: " + ", ".join(sorted(missing))


def test_a_missing_docstring_is_found():
    class Bare:
        def method(self): ...

        @property
        def size(self): ...

    Bare.__module__ = "tacit.made_up"
    assert list(undocumented(Bare, "Bare")) == ["Bare", "Bare.method"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The text of all pages of the built documentation."""
    folder = tmp_path_factory.mktemp("site")
    # not --quiet: it hides warnings from --strict too, and the build passes
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert result.returncode == 0, result.stderr
    return "\n".join(page.read_text(encoding="utf-8") for page in folder.rglob("*.html"))


def is_shown(site, module, name, thing):
    """In the reference, under whatever path of its area it is imported from; what is no code, in the text by name."""
    area = module.__name__.split(".")[1]
    in_reference = re.search(rf'id="tacit\.{area}(?:\.\w+)*\.{name}"', site)
    return in_reference or (not is_code(thing) and re.search(rf"<code>[^<]*\b{name}\b", site))


def test_public_names_are_in_the_documentation(site):
    names = [(m, name, thing) for m in public_modules() for name, thing in exported(m).items()]
    assert len(names) > 20, "control: the packages were found"
    missing = [f"{m.__name__}.{name}" for m, name, thing in names if not is_shown(site, m, name, thing)]
    assert not missing, "on no page: " + ", ".join(missing)
    assert not is_shown(site, tacit.privacy, "made_up", None), "control: a name that is on no page"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_no_index_of_a_formula_is_read_as_emphasis(page):
    """Emphasis is written with stars: without underscores a page must have as much of it."""
    text = page.read_text()
    plain, bare = (markdown(kept, extensions=["fenced_code", "tables"]) for kept in (text, text.replace("_", "")))
    assert plain.count("<em>") == bare.count("<em>")


def test_the_site_needs_no_network(site):
    loaded = re.findall(r'<(?:link|script|img)[^>]+(?:href|src)="((?:https?:)?//[^"]+)"', site)
    assert loaded == []
