"""Every public name has a docstring, and a place in the documentation."""

import importlib
import inspect
import runpy
from pathlib import Path

import pytest
from markdown import markdown

ROOT = Path(__file__).parents[1]
SITE = runpy.run_path(str(ROOT / "scripts" / "check_site.py"))
exported, is_code, module_names = SITE["exported"], SITE["is_code"], SITE["module_names"]


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
        for module in SITE["public_modules"]()
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


def test_the_check_of_the_site_finds_a_name_on_no_page_and_a_foreign_address():
    names = {f"{m.__name__}.{name}": m.__name__.split(".")[1] for m in SITE["public_modules"]() for name in exported(m)}
    assert len(names) > 20, "control: the packages were found"
    whole = "".join(f'<h2 id="tacit.{area}.{name.rpartition(".")[2]}">' for name, area in names.items())
    whole += "".join(f"<code>{name.rpartition('.')[2]}</code>" for name in names)
    assert SITE["find_faults"](whole) == []
    lacking = whole.replace("tacit.privacy.Guarantee", "tacit.privacy.MadeUp")
    assert SITE["find_faults"](lacking) == ["tacit.privacy.Guarantee is on no page"]
    foreign = whole + '<script src="https://example.com/x.js">'
    assert SITE["find_faults"](foreign) == ["a page loads https://example.com/x.js"]


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_no_index_of_a_formula_is_read_as_emphasis(page):
    """Emphasis is written with stars: without underscores a page must have as much of it."""
    text = page.read_text()
    plain, bare = (markdown(kept, extensions=["fenced_code", "tables"]) for kept in (text, text.replace("_", "")))
    assert plain.count("<em>") == bare.count("<em>")
