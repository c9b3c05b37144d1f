"""``tacit scores protect`` and ``learn``: one guarded score, a choice from several, and who pays before they exist."""

import json
import math
from collections import namedtuple
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import numpy as np
import pytest
from sklearn.metrics import f1_score, log_loss, roc_auc_score

from tacit.cli.app import main
from tacit.cli.scores.learn import _each
from tacit.privacy import Guarantee, Unit, read_release
from tacit.privacy.ledger import Ledger
from tacit.privacy.rounding import exact
from tacit.scores.learners import choose
from tacit.scores.metrics import Accuracy, LogLoss
from tacit.scores.policies import Laplace
from tacit.scores.policies.several import NoisyMeans

ROWS = 600
WORDS = np.array(["no", "yes"])
KINDS = np.array(["ash", "elm", "oak"])
Said = namedtuple("Said", ["stdout", "stderr"])


def _write(path, **columns):
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y, kind = rng.integers(0, 2, ROWS), rng.integers(0, 3, ROWS)
    good, poor = (np.clip(0.5 + s * (2 * y - 1) + rng.normal(0, 0.1, ROWS), 0.02, 0.98) for s in (0.3, 0.1))
    table = np.exp(2.0 * np.eye(3)[kind] + rng.normal(size=(ROWS, 3)))
    return {"y": y, "kind": kind, "good": good, "poor": poor, "table": table / table.sum(axis=1, keepdims=True)}


@pytest.fixture
def folder(tmp_path, monkeypatch, data):
    """A folder with labels and predictions, and a ledger that knows the labels."""
    monkeypatch.chdir(tmp_path)
    y, order = data["y"], np.random.default_rng(1).permutation(ROWS)
    _write(tmp_path / "truth.csv", ill=WORDS[y])
    _write(tmp_path / "named.csv", id=np.arange(ROWS), ill=WORDS[y])
    _write(tmp_path / "kinds.csv", kind=KINDS[data["kind"]], x=y)
    _write(tmp_path / "numbers.csv", days=data["good"])
    _write(tmp_path / "good.csv", p=data["good"])
    _write(tmp_path / "poor.csv", p=data["poor"])
    _write(tmp_path / "shuffled.csv", p=data["good"][order], id=order)
    _write(tmp_path / "words.csv", guess=WORDS[(data["good"] > 0.5).astype(int)])
    _write(tmp_path / "poor_words.csv", guess=WORDS[(data["poor"] > 0.5).astype(int)])
    _write(tmp_path / "table.csv", **{str(j): data["table"][:, j] for j in range(3)})
    _write(tmp_path / "by_name.csv", **{KINDS[j]: data["table"][:, j] for j in (2, 0, 1)})
    _write(tmp_path / "out_of_order.csv", **{str(j): data["table"][:, j] for j in (2, 0, 1)})
    _write(tmp_path / "short.csv", p=data["good"][1:])
    _write(tmp_path / "percent.csv", p=100 * data["good"])
    _write(tmp_path / "wide.csv", p=data["good"], q=1 - data["good"], r=data["good"])
    _write(tmp_path / "twice.csv", id=np.arange(ROWS) // 2, p=data["good"])
    _write(tmp_path / "others.csv", id=np.arange(ROWS) + 1, p=data["good"])
    _write(tmp_path / "same.csv", ill=["no"] * ROWS)
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(WORDS[y], name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=1.5))
    return tmp_path


def _run(arguments, *, code=0):
    out, err = StringIO(), StringIO()
    with pytest.raises(SystemExit) as end, redirect_stdout(out), redirect_stderr(err):
        main(["scores", *arguments.split()])
    assert (end.value.code or 0) == code, err.getvalue()
    return Said(out.getvalue(), err.getvalue())


def _json(arguments):
    return json.loads(_run(f"{arguments} --json").stdout)


def _spent():
    return Ledger.open("ledger.db").statement("visits").spent


def test_the_score_is_the_policys_own(folder, data):
    metric, policy = LogLoss(), Laplace(epsilon=0.5)
    measured = metric.measure(data["y"], np.genfromtxt("good.csv", skip_header=1))
    expected = policy.release(measured, state={}, rng=np.random.default_rng(7))
    found = _json("protect good.csv --labels truth.csv --label ill --epsilon 0.5 --seed 7")
    assert found["score"] == expected.released
    assert found["mechanism"]["noise_scale"] == policy.scale(metric, rows=ROWS)
    assert (found["guarantee"]["unit"], found["guarantee"]["epsilon"]) == ("label", 0.5)


def test_a_seeded_score_says_so_and_another_does_not(folder):
    said = _run("protect good.csv --labels truth.csv --epsilon 0.5 --seed 7")
    assert "seeded, so the noise hides nothing" in said.stdout
    assert said.stderr.startswith("warning: seeded")
    first, second = (_json("protect good.csv --labels truth.csv --epsilon 0.5") for _ in range(2))
    assert not first["seeded"]
    assert first["score"] != second["score"]


def test_words_say_score_promise_assumptions_and_what_is_open(folder):
    text = _run("protect good.csv --labels truth.csv --epsilon 0.5").stdout
    assert "Log loss 0." in text
    assert "epsilon 0.5 for one label" in text
    assert "which classes occur is public" in text
    assert "Not protected: features, predictions and the number of rows." in text
    declared = _run("protect good.csv --labels truth.csv --epsilon 0.5 --classes no,yes").stdout
    assert "which classes occur" not in declared
    none = _run("protect good.csv --labels truth.csv --policy rounded:decimals=2").stdout
    assert "no guarantee: rounding is no noise" in none
    assert "Not protected: the labels," in none


def test_every_metric_reads_files_as_the_library_reads_arrays(folder, data):
    def exact_score(files, metric):
        return _json(f"protect {files} --policy exact --metric {metric}")["score"]

    y, good, kind, table = data["y"], data["good"], data["kind"], data["table"]
    guessed = (good > 0.5).astype(int)
    assert exact_score("good.csv --labels truth.csv", "log_loss") == pytest.approx(log_loss(y, good))
    assert exact_score("good.csv --labels truth.csv", "brier") == pytest.approx(np.mean((y - good) ** 2))
    assert exact_score("good.csv --labels truth.csv", "auc") == pytest.approx(roc_auc_score(y, good))
    assert exact_score("words.csv --labels truth.csv", "accuracy") == pytest.approx(np.mean(y == guessed))
    assert exact_score("words.csv --labels truth.csv", "f1") == pytest.approx(f1_score(y, guessed))
    assert exact_score("poor.csv --labels numbers.csv", "mae") == pytest.approx(np.mean(np.abs(good - data["poor"])))
    three = "--labels kinds.csv --label kind"
    assert exact_score(f"table.csv {three}", "log_loss:floor=0.0001") == pytest.approx(log_loss(kind, table))
    assert exact_score(f"by_name.csv {three}", "brier") == exact_score(f"table.csv {three}", "brier")
    assert exact_score(f"out_of_order.csv {three}", "brier") != exact_score(f"table.csv {three}", "brier")


def test_rows_are_matched_by_id(folder):
    matched = _json("protect shuffled.csv --labels named.csv --policy exact")["score"]
    assert matched == _json("protect good.csv --labels truth.csv --policy exact")["score"]


def test_a_class_list_may_name_classes_that_do_not_occur(folder):
    found = _json("protect words.csv --labels truth.csv --metric accuracy --epsilon 1 --classes maybe,no,yes")
    assert found["mechanism"]["metric"] == {"metric": "accuracy", "classes": 3}
    same = _json("protect words.csv --labels same.csv --metric accuracy --policy exact --classes no,yes")
    assert same["score"] == pytest.approx(np.mean(np.genfromtxt("words.csv", dtype=str, skip_header=1) == "no"))


def test_the_release_file_says_what_the_screen_says(folder):
    found = _json("protect good.csv --labels truth.csv --epsilon 0.5 --out score.json")
    release = read_release("score.json")
    assert release.value["score"] == found["score"]
    assert (release.surface, str(release.guarantee)) == ("scores", "epsilon 0.5 for one label")
    assert release.mechanism == found["mechanism"]
    assert not release.seeded
    assert "exists already" in _run("protect good.csv --labels truth.csv --epsilon 1 --out score.json", code=2).stderr
    _run("protect good.csv --labels truth.csv --epsilon 1 --out score.json --force")


@pytest.mark.parametrize("source", ["truth.csv", "good.csv"])
def test_what_is_read_is_not_written_over(folder, source):
    before = (folder / source).read_text()
    said = _run(f"protect good.csv --labels truth.csv --epsilon 1 --ledger ledger.db --out {source} --force", code=2)
    assert f"{source} is the table that is read, which would be lost" in said.stderr
    assert (folder / source).read_text() == before
    assert _spent() == 0


def test_a_file_is_named_once(folder):
    assert _run("protect twice.csv --labels named.csv --epsilon 1", code=2).stderr.startswith("twice.csv must have")


def test_the_ledger_pays_and_refuses(folder):
    said = _run("protect good.csv --labels truth.csv --epsilon 0.5 --ledger ledger.db")
    assert "entry visits/1: spent epsilon 0.5, left 1." in said.stdout
    _run("learn good.csv poor.csv --labels truth.csv --epsilon 0.75 --ledger ledger.db")
    assert _spent() == 1.25
    for refused in ("protect good.csv", "learn good.csv poor.csv"):
        said = _run(f"{refused} --labels truth.csv --epsilon 0.5 --ledger ledger.db", code=2)
        assert "would bring it to 1.75" in said.stderr
        assert said.stdout == ""
    assert _spent() == 1.25


@pytest.mark.parametrize("command", ["protect good.csv", "learn good.csv poor.csv"])
def test_a_score_is_paid_for_before_it_exists(folder, monkeypatch, command):
    def crash(self, *args, **kwargs):
        raise RuntimeError("as if the power failed")

    monkeypatch.setattr(NoisyMeans, "draw", crash)
    _run(f"{command} --labels truth.csv --epsilon 0.5 --ledger ledger.db --dataset visits", code=1)
    assert _spent() == 0.5


def test_persons_of_several_rows_pay_for_all_of_them(folder, data):
    budget = Guarantee(unit=Unit.LABEL, epsilon=1.0).for_group(rows=2)
    Ledger.create("pairs.db").register(WORDS[data["y"]], name="visits", budget=budget)
    for command in ("protect good.csv", "learn good.csv poor.csv"):
        promise = _json(f"{command} --labels truth.csv --epsilon 0.25 --rows-per-person 2 --ledger pairs.db")
        assert (promise["guarantee"]["epsilon"], promise["guarantee"]["rows"]) == (0.5, 2)
    assert Ledger.open("pairs.db").statement("visits").spent == 1.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("protect good.csv", "--epsilon must be given"),
        ("protect good.csv --epsilon 0", "epsilon must be a finite number > 0"),
        ("protect good.csv --epsilon 1 --policy laplace:epsilon=2", "be said once"),
        ("protect good.csv --epsilon 1 --policy exact", "must stand with --policy laplace"),
        ("protect good.csv --policy exact", "exact has no promise to charge for"),
        ("protect good.csv --policy ladder", "laplace, rounded or exact for a single score, got ladder"),
        ("protect good.csv --policy magic", "policy must be one of"),
        ("protect good.csv --epsilon 1 --metric recall", "metric must be one of"),
        ("protect good.csv --epsilon 1 --metric log_loss:floor=null", "must have the form NAME:KEY=NUMBER"),
        ("protect good.csv --epsilon 1 --metric log_loss:floor=0.1,floor=0.2", "must have the form NAME:KEY=NUMBER"),
        ("protect good.csv --policy laplace:epsilon=1,epsilon=2", "must have the form NAME:KEY=NUMBER"),
        ("protect good.csv --epsilon 1e-15", "scale must be at most 2^52"),
        ("learn good.csv poor.csv --epsilon 1e-15", "scale must be at most 2^52"),
        ("protect good.csv --epsilon 1 --metric log_loss:classes=3", "--metric must have classes=2"),
        ("protect good.csv --epsilon 1 --metric auc", "give class_floor"),
        ("protect good.csv --epsilon 1 --metric mae", "a column of numbers for mae, got words"),
        ("protect good.csv --epsilon 1 --metric accuracy", "good.csv: predictions must be one of the classes no, yes"),
        ("protect words.csv --epsilon 1", "words.csv: column 'guess' is string, not numbers"),
        ("protect percent.csv --epsilon 1", "percent.csv: predictions must be probabilities in"),
        ("protect short.csv --epsilon 1", "one row for each of the 600 labels, got 599"),
        ("protect wide.csv --epsilon 1", "besides id, or one for each of 2 classes, got p, q, r"),
        ("protect shuffled.csv --epsilon 1", "shuffled.csv has a column id and truth.csv has none"),
        ("protect nowhere.csv --epsilon 1", "nowhere.csv does not exist"),
        ("protect good.csv --epsilon 1 --label well", "--label names no column 'well'"),
        ("protect good.csv --epsilon 1 --classes no,maybe", "among the declared classes"),
        ("protect good.csv --epsilon 1 --rows-per-person 0", "--rows-per-person must be a whole number"),
        ("protect good.csv --epsilon 1 --out nowhere/score.json", "nowhere"),
        ("protect good.csv --epsilon 1 --out score.csv", "score.csv ends as CSV does, and JSON is written"),
        ("learn good.csv --epsilon 1", "two files or more"),
        ("learn good.csv poor.csv --epsilon 0", "--epsilon must be a finite number > 0"),
        ("learn good.csv poor.csv --epsilon 1 --within -1", "--within must be a finite number >= 0"),
        ("learn good.csv poor.csv --epsilon 1 --metric f1", "--metric must be a mean over rows"),
        ("learn good.csv short.csv --epsilon 1", "short.csv must have one row for each"),
    ],
)
def test_bad_input_is_one_sentence_and_costs_nothing(folder, arguments, words):
    said = _run(f"{arguments} --labels truth.csv --ledger ledger.db", code=2)
    assert words in said.stderr
    assert len(said.stderr.strip().splitlines()) == 1
    assert said.stdout == ""
    assert Ledger.open("ledger.db").statement("visits").entries == ()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("good.csv --labels named.csv", "named.csv has a column id and good.csv has none"),
        ("twice.csv --labels named.csv", "twice.csv must have a different id in each row"),
        ("others.csv --labels named.csv", "others.csv must have a row with the id '0' of named.csv, got none"),
        ("good.csv --labels kinds.csv", "--label must name the private column: kinds.csv has the columns kind, x"),
        ("good.csv --labels same.csv", "--classes must list the classes where all labels are the same"),
        ("good.csv --labels numbers.csv --metric mae --classes a,b", "--classes must stand with a metric of classes"),
        ("good.csv --labels numbers.csv --metric mae:upper=0.1", "give the public range, as in --metric mae:lower=0"),
        ("good.csv --labels truth.csv --dataset visits", "--dataset and --memo must stand with --ledger"),
    ],
)
def test_files_that_do_not_fit_are_refused(folder, arguments, words):
    assert words in _run(f"protect {arguments} --epsilon 1", code=2).stderr


def test_the_best_is_chosen_and_the_choice_is_the_librarys(folder, data):
    found = _json("learn poor.csv good.csv poor.csv --labels truth.csv --epsilon 3 --seed 5")
    assert (found["choice"], found["index"], found["tied"]) == ("good.csv", 1, [1])
    low, high = LogLoss().term_bounds
    losses = np.array([LogLoss().measure(data["y"], data[name]).terms for name in ("poor", "good", "poor")])
    scores = Laplace(epsilon=1.0).protect((losses - low) / (high - low), rng=np.random.default_rng(5))
    choice = choose([0, 1, 2], scores, within=0.01 / (high - low))
    assert found["probability_within"] == pytest.approx(choice.probability_within, abs=0.01)
    assert found["expected_regret"] == pytest.approx(choice.expected_regret * (high - low), rel=0.02)
    for one, mean in zip(found["scores"], losses.mean(axis=1), strict=True):
        assert one["score"] == pytest.approx(mean, abs=20 * (high - low) / ROWS)


def test_higher_is_better_for_accuracy(folder, data):
    command = "learn poor_words.csv words.csv --labels truth.csv --metric accuracy --epsilon 2000"
    found = _json(command)
    assert found["choice"] == "words.csv"
    assert found["score"] == pytest.approx(Accuracy().score(data["y"], data["good"] > 0.5), abs=1e-3)
    assert "words.csv has the highest noised score: accuracy" in _run(command).stdout


def test_squares_are_what_rmse_is_chosen_by(folder, data):
    found = _json("learn poor.csv good.csv --labels numbers.csv --metric rmse --epsilon 2000")
    assert (found["choice"], found["scored_by"]) == ("good.csv", "the mean squared error")
    assert found["scores"][0]["score"] == pytest.approx(np.mean((data["good"] - data["poor"]) ** 2), abs=1e-3)
    said = _run("learn poor.csv good.csv --labels numbers.csv --metric rmse --epsilon 2000").stdout
    assert "within 0.01 of the best of them in the mean squared error on these 600 rows" in said


def test_a_choice_says_how_sure_it_is_and_what_it_promises(folder):
    text = _run("learn good.csv poor.csv --labels truth.csv --epsilon 2 --within 0.1").stdout
    assert "With probability at least 9" in text
    assert "within 0.1 of the best of them on these 600 rows" in text
    assert "Guarantee: epsilon 2 for one label, over all 2 scores together." in text
    assert "Not protected: features" in text
    lost = _run("learn good.csv poor.csv poor.csv --labels truth.csv --epsilon 0.001 --within 0").stdout
    assert "The noise is too large to promise" in lost
    assert _run("learn good.csv poor.csv --labels truth.csv --epsilon 1 --seed 1").stderr.startswith("warning: seeded")


def test_the_probability_said_is_that_of_a_right_choice(folder, data):
    """Two models, one with 30 more errors in 600 rows: the bound is sharp for them, from below and from above."""
    wrong = {"few.csv": 60, "many.csv": 90}
    for name, errors in wrong.items():
        _write(folder / name, guess=WORDS[np.where(np.arange(ROWS) < errors, 1 - data["y"], data["y"])])
    command = "learn few.csv many.csv --labels truth.csv --metric accuracy --epsilon 0.1 --within"
    said = {within: _json(f"{command} {within}")["probability_within"] for within in (0.0499, 0.0501)}
    means, rng = Laplace(epsilon=0.05).choice_means, np.random.default_rng(0)
    few, many = (int(errors / means.step) + means.noise.draw(200_000, rng=rng) for errors in wrong.values())
    right = np.mean(few <= many)
    assert said[0.0499] == pytest.approx(right, abs=0.005)
    assert 0.8 < right < 0.9, "control: neither sure nor a coin"
    assert said[0.0501] > said[0.0499], "a wrong choice is near enough here, and the bound does not know it"


def test_shares_of_epsilon_never_add_up_to_more(folder):
    rng = np.random.default_rng(0)
    for epsilon, models in zip(rng.lognormal(0, 3, 2000).tolist(), rng.integers(2, 200, 2000).tolist(), strict=True):
        share = _each(epsilon, models)
        assert models * exact(share) <= exact(epsilon)
        assert share == pytest.approx(epsilon / models, rel=1e-15)
    assert any(k * exact(1 / k) > 1 for k in range(2, 200)), "control: plain division overspends"
    assert math.isclose(_each(1.0, 3), 1 / 3)
