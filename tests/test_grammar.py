"""One grammar: the same names, parameters, options and headings on every surface, and one plan behind all doors."""

import ast
import copy
import inspect
import json
import pickle
import re
import subprocess
import sys
import tomllib
import typing
from dataclasses import fields
from datetime import date
from importlib import import_module
from pathlib import Path

import pytest

from tacit.cli.app import AREAS, load_area, main
from tacit.privacy.errors import InvalidInput
from tacit.privacy.plan import Plan as AnyPlan
from tacit.privacy.settings import choices_of, settings_of, to_words

ROOT = Path(__file__).parents[1]
ALL = ("labels", "bags", "features", "scores", "models")
"""All surfaces."""

SIDES = ("protect", "learn", "attack")
NAMES = ("Plan", "Release", *SIDES)

PLANS = {
    "bags": (
        {
            "label": "ill",
            "epsilon": 4,
            "delta": 1e-6,
            "classes": ("no", " yes"),
            "unit": "label",
            "person": "who",
            "rows_per_person": 2,
            "by": (("city", "age"), ("sex",)),
            "edges": {"age": (18.0, 40.5)},
            "min_size": 5,
            "small": "merge",
            "consistent": False,
            "select": 1,
            "selection_epsilon": 0.5,
        },
        {
            "label": "days",
            "epsilon": None,
            "mechanism": {"name": "random", "size": 3, "bags": 10},
            "totals": "squared",
            "lower": 0.5,
            "upper": 30.0,
        },
        {"label": "ill", "epsilon": 1, "unit": "record", "by": (("city",),), "categories": {"city": ("bonn", "a, b")}},
    ),
    "features": (
        {
            "label": "ill",
            "epsilon": 4,
            "delta": 1e-6,
            "features": ("age", "a, b"),
            "classes": ("no", " yes"),
            "unit": "label",
            "rows_per_person": 2,
            "select": 2,
            "person": "who",
            "ranges": {"*": (-3.0, 3.0), "age": (0.0, 120.5), "seen": (date(2020, 1, 1), date(2024, 12, 31))},
            "categories": {"ward": ("A", "b, c")},
            "gaps": ("age",),
            "label_epsilon": 1 / 3,
            "selection_epsilon": 0.25,
            "score": "t",
            "class_rows": (50, 60),
        },
        {"label": "cost", "epsilon": None, "ranges": {"*": (0.0, 1.0)}, "mechanism": "totals", "cuts": (100.0, 500.0)},
    ),
    "scores": (
        {
            "label": "ill",
            "epsilon": 4,
            "classes": ("no", " yes"),
            "unit": "label",
            "person": "who",
            "rows_per_person": 2,
            "metric": {"name": "log_loss", "floor": 0.125},
            "policy": {"name": "thresholdout", "refreshes": 3},
            "submissions": 5,
        },
        {"label": "ill", "epsilon": None, "metric": "mae:upper=30", "policy": "bounded:tau=0.25"},
    ),
    "labels": (
        {
            "label": "ill",
            "epsilon": 4,
            "features": ("age", "a, b"),
            "classes": ("no", " yes"),
            "unit": "label",
            "person": "who",
            "rows_per_person": 2,
            "mechanism": {"name": "prior", "share": 0.2},
            "prior": (0.7, 0.3),
            "missing": "public",
            "shuffle": True,
            "weights": True,
        },
        {"label": "days", "epsilon": 0.5, "mechanism": "bins", "values": (0.0, 1.5, 3.0)},
    ),
    "models": (
        {
            "label": "ill",
            "epsilon": 4,
            "delta": 1e-6,
            "features": ("age", "a, b"),
            "classes": ("no", " yes"),
            "unit": "record",
            "mechanism": {"name": "dp_sgd", "width": 16, "clip": 0.5},
            "person": "who",
            "rows_per_person": 2,
            "ranges": {"*": (0.0, 100.0)},
            "categories": {"ward": ("A", "B")},
            "gaps": ("*",),
        },
        {"label": "cost", "epsilon": None, "mechanism": "margin:width=20", "cuts": (99.5,)},
    ),
}
"""Plans whose fields, taken together, all differ from their defaults."""

REFUSED = {
    "labels": {"delta": 1e-6},
    "bags": {"features": ("age",)},
    "features": {},
    "scores": {"features": ("age",), "delta": 1e-6},
    "models": {},
}
"""Fields that every plan has and a surface cannot use: no command offers them, and the plan refuses them by name."""

SURFACES = pytest.mark.parametrize("surface", ALL)
EVERY_PLAN = pytest.mark.parametrize(("surface", "given"), [(one, plan) for one in ALL for plan in PLANS[one]])


def plan_of(surface, given):
    return import_module(f"tacit.{surface}").Plan(**given)


@EVERY_PLAN
@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"epsilon": 1e300}, r"^epsilon must be from 1e-9 to 1e6, got 1e\+300$"),
        ({"epsilon": 1e-300}, r"^epsilon must be from 1e-9 to 1e6, got 1e-300$"),
        ({"delta": 1e-320}, r"^delta must be 0, or from 1e-100 to below 1, got 1e-320$"),
    ],
)
def test_epsilon_and_delta_have_the_same_bounds_everywhere(surface, given, changed, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        plan_of(surface, {**given, **changed})


# What each side is called with: the text of the design.
def protect(table, plan, *, data=None, out=None, payment=None, rng=None, progress=None): ...
def learn(release, *, data=None, test=None, features=(), method=None, hold_out=0.2, rng=None, progress=None): ...
def attack(release, *, data=None, truth=None, before=None, method=None, level=0.95, rng=None, progress=None): ...


DESIGN = {"protect": protect, "learn": learn, "attack": attack}


def parameters(function):
    return [(one.name, one.kind, one.default) for one in inspect.signature(function).parameters.values()]


@SURFACES
@pytest.mark.parametrize("side", SIDES)
def test_every_side_has_the_parameters_of_the_design(surface, side):
    assert parameters(getattr(import_module(f"tacit.{surface}"), side)) == parameters(DESIGN[side])


@SURFACES
def test_learn_returns_one_kind_of_model(surface):
    """What predicts rows is a LearnedModel; scores choose a submission, which has the same three names."""
    module = import_module(inspect.unwrap(import_module(f"tacit.{surface}").learn).__module__)
    made = getattr(module, module.learn.__annotations__["return"])
    assert made.__name__ == ("ChosenSubmission" if surface == "scores" else "LearnedModel")
    assert {"guarantee_", "report_"} <= {one.name for one in fields(made)}
    assert callable(made.predict)


@SURFACES
def test_a_surface_exports_five_names_and_nothing_else(surface):
    module = import_module(f"tacit.{surface}")
    assert sorted(module.__all__) == sorted(NAMES)
    for name in NAMES:
        home = getattr(module, name).__module__
        assert home.startswith(f"tacit.{surface}."), f"{name} says that it is defined in {home}"


COMMON = {
    "protect": "engine memory out force ledger dataset part store again entry reserved seed as_json",
    "learn": "release data test features method hold_out out force seed as_json",
    "attack": "release data truth method level out force seed as_json",
}
ENDPOINT = "url rows class_count metric policy body score_field header timeout state"
UNUSED = {
    "bags": {"hold_out"},
    "features": {"data"},
    "scores": {"test", "features", "hold_out"},
    "models": {"data", "hold_out"},
}
"""surface: options that learn does not have, because they would be refused or have no effect."""

EXTRAS = {
    ("labels", "learn"): {"images", "text", "encoder"},
    ("scores", "protect"): {"data"},
    ("scores", "attack"): {*ENDPOINT.split()},
    ("models", "learn"): {"label", "trust"},
    ("models", "attack"): {"label", "trust"},
}
"""(surface, side): the options that only this command has."""

OWN = {
    **{(surface, "protect"): {"features", "mechanism", "values"} for surface in ALL},
    ("scores", "learn"): {"data"},
    ("scores", "attack"): {"data", "release"},
}
"""(surface, side): options with a meaning of their own: columns that leave, several submissions, no release."""

SHARED_HELP = {one.name for one in fields(AnyPlan)} | set(" ".join(COMMON.values()).split()) - {"method"}
"""What means the same everywhere; other fields, and methods, have the surface's own help."""


def options(surface, side):
    """The options of a command by name: type, default, and how Typer was told to write and explain them."""
    (command,) = (
        one.callback
        for one in import_module(f"tacit.cli.{surface}").app.registered_commands
        if one.callback.__name__ == side
    )
    found = {}
    for name, one in inspect.signature(command).parameters.items():
        kind, shown = typing.get_args(one.annotation)
        said = shown.help if name in SHARED_HELP else None
        found[name] = (kind, one.default, shown.param_decls, shown.metavar, shown.envvar, said)
    return found


@SURFACES
@pytest.mark.parametrize("side", SIDES)
def test_every_command_has_the_options_of_the_design(surface, side):
    expected = {*COMMON[side].split(), *EXTRAS.get((surface, side), ())}
    if side == "protect":
        plan = import_module(f"tacit.{surface}").Plan
        expected |= {"table", *(one.name for one in settings_of(plan))} - set(plan.unused)
    if side == "learn":
        expected -= UNUSED.get(surface, set())
    assert set(options(surface, side)) == expected


@SURFACES
@pytest.mark.parametrize("side", SIDES)
def test_a_word_has_one_meaning_on_all_surfaces(surface, side):
    mine, others = options(surface, side), options("labels", side)
    shared = mine.keys() & others.keys()
    assert shared >= set(COMMON[side].split()) - (UNUSED.get(surface, set()) if side == "learn" else set())
    shared -= OWN.get((surface, side), set())
    assert [mine[name] for name in shared] == [others[name] for name in shared]


def leaves(command, words):
    """Every command below this one that does something, with the words that call it."""
    below = getattr(command, "commands", None)
    if below is None:
        yield words, command
    for name, child in (below or {}).items():
        yield from leaves(child, f"{words} {name}")


COMMANDS = dict(leaf for area in AREAS for leaf in leaves(load_area(area), area))

SAME_MEANING = {
    "--epsilon": "The epsilon of",
    "--delta": "The delta of the guarantee",
    "--unit": "The unit of privacy: what a change of the data changes.",
    "--rows-per-person": "How many rows of one person are used at most",
    "--label": "column",
    "--features": "olumns",
    "--categories": "The public values of a column",
    "--select": r"How many (columns|partitions) to keep, chosen privately",
    "--selection-epsilon": r"The part of epsilon that selects (columns|partitions)\.",
    "--part": "part",
    "--ledger": "[Aa] SQLite file, or postgresql://USER@HOST/DATABASE.|^Read the table's budget from this ledger",
    "--dataset": "^The ledger's data set to (charge|read)",
    "--against": "earlier",
    "--data": "What the recipient or attacker has besides the release|A submission|What teams get",
    "--truth": r"^The (table that was protected|labels)",
    "--submissions": "[Ss]ubmissions",
    "--per-day": "^Submissions per day",
    "--class-count": "umber of classes",
    "--rows": "[Rr]ows that the host scores|rows are drawn",
    "--url": "^The address of a scoring (server|endpoint)",
    "--name": "^The name that everybody sees",
    "--out": r"Where to write the (release|result|page|plan)\b",
    "--force": "Replace an existing",
    "--json": r"Print .* as .*JSON\.",
    "--seed": "Repeat a run exactly",
}
"""option: what the help of every command has in common, where a command adds something of its own."""

OF_THE_SURFACE = {"--mechanism", "--method", "--metric", "--policy", "--final"}
"""Choices: what there is to choose from is the command's own."""


def kind(option):
    """How a value is written; a number is a number, whoever reads it."""
    if option.metavar in ("NUMBER", "NUMBER|none", "INTEGER"):
        return ("number", option.multiple)
    plain = {int: "number", float: "number", Path: "path", str: "words", bool: "flag", list[str]: "words"}
    return (plain.get(option.type_descriptor.annotation, str(option.type_descriptor.annotation)), option.multiple)


def uses():
    """option: {command: the option there}."""
    found = {}
    for words, command in COMMANDS.items():
        for option in command.params:
            if option.param_type_name == "option":
                found.setdefault(option.opts[0], {})[words] = option
    return found


@pytest.mark.parametrize(("word", "where"), uses().items(), ids=uses())
def test_an_option_has_one_type_and_one_meaning_in_all_commands(word, where):
    several = {"--data"}  # scores take several submissions, other surfaces one table
    kinds = {kind(option)[: 1 if word in several else 2]: words for words, option in where.items()}
    assert len(kinds) == 1, kinds
    if word in OF_THE_SURFACE:
        return
    if word in SAME_MEANING:
        assert {words for words, option in where.items() if not re.search(SAME_MEANING[word], option.help)} == set()
    else:
        assert len({option.help for option in where.values()}) == 1, {w: option.help for w, option in where.items()}


@SURFACES
def test_the_fields_that_all_plans_share_are_those_of_the_kernel(surface):
    mine = {one.name: (one.kind, one.help, one.metavar) for one in settings_of(import_module(f"tacit.{surface}").Plan)}
    own = OWN.get((surface, "protect"), set())
    shared = {one.name: (one.kind, one.help, one.metavar) for one in settings_of(AnyPlan) if one.name not in own}
    assert shared.items() <= mine.items()


@SURFACES
def test_the_plans_of_this_test_use_every_field(surface):
    plans = [plan_of(surface, given) for given in PLANS[surface]]
    used = {one.name for one in settings_of(type(plans[0])) for plan in plans if getattr(plan, one.name) != one.default}
    assert used == {one.name for one in fields(plans[0])} - set(REFUSED[surface])
    assert plans[0].unused.keys() == REFUSED[surface].keys()
    for name, value in REFUSED[surface].items():
        with pytest.raises(InvalidInput) as refused:
            plan_of(surface, {**PLANS[surface][0], name: value})
        assert refused.value.field == name


@EVERY_PLAN
def test_every_plan_can_be_copied_pickled_and_hashed(surface, given):
    plan = plan_of(surface, given)
    assert plan == copy.deepcopy(plan) == pickle.loads(pickle.dumps(plan))
    assert hash(plan) == hash(copy.deepcopy(plan))


@EVERY_PLAN
def test_every_plan_describes_itself_without_option_words(surface, given):
    plan = plan_of(surface, given)
    said = plan.describe()
    assert not set("_:=") & set(said), said
    assert plan.epsilon is None or f"epsilon {plan.epsilon:g}" in said


@EVERY_PLAN
def test_a_plan_is_the_same_from_the_command_line(surface, given, monkeypatch, tmp_path):
    asked = []

    def stop(_, plan, **__):
        asked.append(plan)
        raise InvalidInput("nothing is released here")

    monkeypatch.setattr(import_module(f"tacit.{surface}"), "protect", stop, raising=False)
    words = plan_of(surface, given).to_options()
    with pytest.raises(SystemExit):
        main([surface, "protect", "bundled:iris", *words, "--out", str(tmp_path / "out")])
    assert asked == [plan_of(surface, given)]


def as_toml(value):
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {as_toml(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return '"none"' if value is None else json.dumps(value)


@EVERY_PLAN
def test_a_plan_is_the_same_from_toml(surface, given):
    plan = plan_of(surface, given)
    for document in (given, plan.to_json()):
        text = f"[[{surface}]]\n" + "\n".join(f"{name} = {as_toml(value)}" for name, value in document.items())
        (table,) = tomllib.loads(text)[surface]
        assert type(plan).from_json(table) == plan


@EVERY_PLAN
def test_a_plan_is_the_same_from_words_and_objects_in_python(surface, given):
    plan = plan_of(surface, given)
    objects = {one.name: getattr(plan, one.name) for one in fields(plan)}
    assert type(plan)(**objects) == plan
    words = {name: value if isinstance(value, dict) else to_words(objects[name]) for name, value in given.items()}
    assert type(plan)(**words) == plan


@SURFACES
def test_plans_and_methods_load_neither_numpy_nor_arrow(surface):
    code = (
        f"import sys, tacit.{surface}.plan, tacit.{surface}.methods, tacit.{surface} as surface; surface.Plan;"
        "print([name for name in ('numpy', 'pyarrow', 'scipy', 'sklearn', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@SURFACES
@pytest.mark.parametrize("side", SIDES)
def test_every_side_has_its_heading_its_help_and_its_tests(surface, side):
    page = (ROOT / "docs" / f"{surface}.md").read_text(encoding="utf-8")
    assert f"\n## {side.capitalize()}\n" in page
    assert (ROOT / "tests" / surface / f"test_{side}.py").is_file()
    assert f"tacit {surface} {side} " in import_module(f"tacit.{surface}.methods").HELP[side]


def choices(surface):
    """Every mechanism, metric, policy and method of a surface."""
    module = import_module(f"tacit.{surface}.methods")
    kinds = [one.kind for one in settings_of(import_module(f"tacit.{surface}").Plan)]
    return {one for kind in [*kinds, module.LearnMethod, module.AttackMethod] for one in choices_of(kind)}


NAME_OF_A_CHOICE = re.compile(r"\b(mechanism|metric|policy|method)(\.name|\['name'\])")


def switches(text, classes):
    """Where code asks which mechanism, metric, policy or method it has, instead of asking that."""
    for node in ast.walk(ast.parse(text)):
        written = ast.unparse(node) if isinstance(node, ast.Call | ast.Compare | ast.MatchClass) else ""
        parts = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
        if isinstance(node, ast.Call) and written.startswith("isinstance(") and classes & set(parts):
            yield written
        if isinstance(node, ast.MatchClass) and classes & set(parts):
            yield written
        if isinstance(node, ast.Compare) and re.search(
            r"\b(mechanism|metric|policy|method)(\.name|\['name'\])", written
        ):
            yield written


def test_nothing_asks_which_choice_it_has():
    classes = {one.__name__ for surface in ALL for one in choices(surface)}
    assert len(classes) > 50, "control: they were found"
    found = {str(path): [*switches(path.read_text(), classes)] for path in (ROOT / "src" / "tacit").rglob("*.py")}
    assert {path: asked for path, asked in found.items() if asked} == {}


@pytest.mark.parametrize(
    "code", ["isinstance(given, Digits)", "plan.mechanism.name == 'bins'", "'rr' in x.method['name']"]
)
def test_a_question_which_choice_it_is_is_found(code):
    assert [*switches(code, {"Digits"})] == [code]


WRONG_TYPES = {
    "plan": [{"label": "ill", "epsilon": 1}, None, "labels"],
    "payment": ["ledger.db"],
    "rng": [7, "7"],
    "progress": [True],
}


@SURFACES
@pytest.mark.parametrize("side", SIDES)
def test_an_argument_of_another_type_is_refused_by_its_name(surface, side):
    package = import_module(f"tacit.{surface}")
    function, own = getattr(package, side), package.Plan(**PLANS[surface][0])
    other = next(import_module(f"tacit.{one}").Plan(**PLANS[one][0]) for one in ALL if one != surface)
    for name, values in WRONG_TYPES.items():
        for value in [*values, other] if name == "plan" else values:
            given = {"plan": own} if side == "protect" else {}
            if name in inspect.signature(function).parameters:
                with pytest.raises(InvalidInput, match=f"^{name} must be a ") as error:
                    function("no file", **{**given, name: value})
                assert error.value.field == name
    if side != "protect":
        with pytest.raises(InvalidInput, match=f"^release must be a path, or a release of {surface}, got dict"):
            function({})
