"""Images and released labels: the parts by themselves, and a small set from end to end."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_digits

torch = pytest.importorskip("torch")

from tacit.labels import Plan, protect  # noqa: E402
from tacit.labels.learners.images import ImageClassifier, PatchRepresentation, VotedTraining  # noqa: E402
from tacit.labels.learners.images.checkpoint import TrainingCheckpoint  # noqa: E402
from tacit.labels.learners.images.learner import LearningSchedule  # noqa: E402
from tacit.labels.learners.images.length import TrainingLength  # noqa: E402
from tacit.labels.learners.images.network import ResidualNetwork  # noqa: E402
from tacit.labels.learners.images.optimizer import LayerwiseSgd  # noqa: E402
from tacit.labels.learners.images.targets import ClassOpinions, choose_targets  # noqa: E402
from tacit.labels.learners.images.views import patch_views, plain_views, strong_views, weak_views  # noqa: E402
from tacit.labels.learners.images.votes import choose_neighbors, nearest_rows, vote  # noqa: E402
from tacit.privacy.errors import InvalidInput  # noqa: E402


def shares(*numbers):
    return torch.tensor(numbers, dtype=torch.float32)


@pytest.fixture
def photographs():
    return torch.from_numpy(np.random.default_rng(0).integers(0, 256, (64, 3, 16, 16), dtype=np.uint8))


@pytest.mark.parametrize("draw", [weak_views, strong_views])
def test_views_keep_the_shape_and_differ(photographs, draw):
    torch.manual_seed(0)
    one, other = draw(photographs), draw(photographs)
    assert one.shape == photographs.shape
    assert one.isfinite().all()
    assert not one.equal(other)
    assert draw(photographs[:, :1]).shape == (64, 1, 16, 16)


def test_patches_show_a_quarter_of_the_area():
    torch.manual_seed(0)
    ramp = torch.arange(32, dtype=torch.uint8).mul(8).expand(500, 3, 32, 32)
    seen = patch_views(ramp, side=24, colored=False)
    width = (seen[:, 0, 12].amax(dim=1) - seen[:, 0, 12].amin(dim=1)) / (plain_views(ramp)[0, 0, 12].amax() * 2)
    assert seen.shape == (500, 3, 24, 24)
    assert 0.35 < float(width.mean()) < 0.65


def test_votes_are_the_likeliest_mix():
    transition = shares([0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7])
    outputs = torch.tensor([0, 1, 2, 0, 0, 1, 2, 2, -1])
    neighbors = torch.arange(1, 9)[None]
    (found,) = vote(neighbors, outputs, transition, rounds=2000)
    grid = [shares(a, b, 1 - a - b) for a in np.linspace(0, 1, 101) for b in np.linspace(0, 1 - a, 101)]
    heard = [output for output in outputs[1:].tolist() if output >= 0]
    fits = [float((mix @ transition)[heard].log().sum()) for mix in grid]
    assert float((found @ transition)[heard].log().sum()) == pytest.approx(max(fits), abs=0.01)


def test_neighbors_are_others():
    rows = torch.randn(50, 8, generator=torch.Generator().manual_seed(0))
    near = nearest_rows(rows, count=5)
    assert near.shape == (50, 5)
    assert not (near == torch.arange(50)[:, None]).any()


def test_targets_need_agreement():
    votes = shares([0.9, 0.1], [0.9, 0.1], [0.1, 0.9], *[[0.02, 0.98]] * 17, *[[0.98, 0.02]] * 20)
    predictions = shares([0.9, 0.1], [0.1, 0.9], [0.1, 0.9], *[[0.02, 0.98]] * 17, *[[0.98, 0.02]] * 20)
    likelihood = torch.full((40, 2), 0.5)
    chosen = choose_targets(
        ClassOpinions(votes=votes, predictions=predictions, likelihood=likelihood), sure=0.8, vote_weight=0.3
    )
    assert chosen.rows.tolist() == [0, *range(2, 40)], "votes and network disagree about row 1"
    _, classes = chosen.draw(20_000)
    assert float((classes == 0).float().mean()) == pytest.approx(0.5, abs=0.02)


def test_the_released_label_decides_where_votes_and_network_waver():
    wavering, likelihood = shares(*[[0.55, 0.45]] * 20), shares(*[[0.3, 0.7]] * 10, *[[0.7, 0.3]] * 10)
    opinions = ClassOpinions(votes=wavering, predictions=wavering, likelihood=likelihood)
    chosen = choose_targets(opinions, sure=0.6, vote_weight=0.3)
    assert chosen.rows.tolist() == list(range(20))
    assert chosen.classes.tolist() == [1] * 10 + [0] * 10


def test_every_class_keeps_its_surest_rows():
    votes = shares(*[[0.6, 0.4]] * 30, *[[0.4, 0.6]] * 30)
    chosen = choose_targets(
        ClassOpinions(votes=votes, predictions=None, likelihood=torch.ones(60, 2)), sure=0.9, vote_weight=0.3
    )
    assert sorted(chosen.classes.tolist()) == [0] * 3 + [1] * 3


def test_a_layer_moves_by_a_share_of_its_norm():
    layer, bias = torch.nn.Parameter(torch.ones(3, 3)), torch.nn.Parameter(torch.ones(3))
    layer.grad, bias.grad = torch.full((3, 3), 1e6), torch.ones(3)
    LayerwiseSgd([layer, bias], decay=0.0).step(0.3)
    assert float((1 - layer.detach()).norm() / 3) == pytest.approx(1.9 * 0.005, rel=1e-3)
    assert bias.tolist() == pytest.approx([1 - 1.9 * 0.3] * 3)


@pytest.fixture(scope="module")
def digits():
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    bytes_ = (images[order] * 15.9).astype(np.uint8).reshape(-1, 8, 8)
    return np.repeat(np.repeat(bytes_, 2, axis=1), 2, axis=2), labels[order]


@pytest.fixture(scope="module")
def small_release(digits):
    return protect(pa.table({"y": digits[1][:100]}), Plan(label="y", epsilon=2), rng=np.random.default_rng(0))


def tiny(**more):
    return ImageClassifier(
        representation=PatchRepresentation(epochs=1, patches=2, images=20, hidden=16, outputs=8, patches_read=1),
        training=VotedTraining(epochs=1.5, batch_size=10, renewals=5),
        width=2,
        random_state=0,
        **more,
    )


@pytest.mark.slow  # a minute
def test_digits_from_released_labels(digits):
    images, labels = digits
    train, test = slice(0, 1200), slice(1200, None)
    plan = Plan(label="y", epsilon=2)
    release = protect(pa.table({"y": labels[train]}), plan, rng=np.random.default_rng(0))
    small = ImageClassifier(
        representation=PatchRepresentation(epochs=2, patches=4, images=60, hidden=64, outputs=32),
        training=VotedTraining(epochs=30, batch_size=100, renewals=10, rate=0.1),
        width=8,
        random_state=0,
    )
    model = small.fit(images[train], release)
    accuracy = np.mean(model.predict(images[test]) == labels[test])
    assert accuracy > np.mean(release.labels.to_numpy() == labels[train]) + 0.1
    assert str(model.guarantee_) == "epsilon 2 for one label"
    assert model.predict_proba(images[:3]).sum(axis=1) == pytest.approx(1)


def test_every_stage_runs(digits, small_release):
    model = tiny().fit(digits[0][:100], small_release)
    assert str(model.guarantee_) == "epsilon 2 for one label"
    assert model.predict_proba(digits[0][:3]).sum(axis=1) == pytest.approx(1)
    assert set(model.predict(digits[0][:50])) <= set(range(10))


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("stage", ["representation", "training"])
def test_an_interrupted_fit_goes_on_where_it_was(digits, small_release, tmp_path, monkeypatch, stage):
    monkeypatch.setattr(TrainingCheckpoint.__init__, "__kwdefaults__", {"seconds": 0.0})
    images, stages = digits[0][:100], []

    def interrupt(done, steps):
        stages.extend(["representation" if not stages else "training"] if done == 1 else [])
        if stages[-1] == stage and done == steps - 1:
            raise Interrupted

    with pytest.raises(Interrupted):
        tiny(checkpoint=tmp_path / "kept.pt", progress=interrupt).fit(images, small_release)
    begun = []
    resumed = tiny(checkpoint=tmp_path / "kept.pt", progress=lambda *step: begun.append(step))
    whole = tiny().fit(images, small_release)
    assert resumed.fit(images, small_release).predict_proba(images).tolist() == whole.predict_proba(images).tolist()
    assert begun[0][0] > 1, "it began anew"


def test_the_checkpoint_of_another_training_is_refused(digits, small_release, tmp_path):
    tiny(checkpoint=tmp_path / "kept.pt").fit(digits[0][:100], small_release)
    with pytest.raises(InvalidInput, match="checkpoint must be of these images, labels and settings"):
        tiny(checkpoint=tmp_path / "kept.pt").fit(digits[0][100:200], small_release)
    (tmp_path / "other.pt").write_bytes(b"something else")
    with pytest.raises(InvalidInput, match="checkpoint must be a checkpoint or a new file"):
        tiny(checkpoint=tmp_path / "other.pt").fit(digits[0][:100], small_release)


def test_filters_of_another_size_tell_the_same():
    torch.manual_seed(0)
    body = ResidualNetwork(3, width=4)
    images = torch.randn(100, 3, 8, 8)
    filters = [one for one in body.modules() if isinstance(one, torch.nn.Conv2d)]
    norms = torch.cat([one.weight.flatten(1).norm(dim=1) for one in filters])
    assert norms.mean().item() == pytest.approx(3**-0.5, rel=0.1), "what fresh filters have"
    for one in body.modules():
        if isinstance(one, torch.nn.Conv2d):
            one.weight.data.mul_(20)
        elif isinstance(one, torch.nn.BatchNorm2d):
            one.momentum = 1.0
    body.train()(images)
    grown = body.eval()(images)
    body.rescale_filters()
    assert body(images).sub(grown).abs().max().item() < 2e-3 * grown.abs().max().item()
    for one in filters:
        assert one.weight.flatten(1).norm(dim=1).tolist() == pytest.approx([3**-0.5] * len(one.weight), rel=1e-4)


def test_the_schedule_is_the_same_for_any_length():
    schedule = LearningSchedule(rate=0.3, forgetting=1.5, memory=0.03, unmixed=0.15)
    rates = np.array([schedule.rate_at(share) for share in np.linspace(0, 1, 1001)])
    assert rates.max() == pytest.approx(0.3, rel=0.01)
    for steps in (3_000, 30_000):
        assert rates.mean() * steps * schedule.decay(steps) == pytest.approx(1.5, rel=0.03)
    assert schedule.mixing_at(0.5, 0.4) == 0.6
    assert schedule.mixing_at(0.9999, 0.4) > 0.99


def test_a_training_takes_the_time_that_it_is_given(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("tacit.labels.learners.images.length.time.monotonic", lambda: now[0])
    length, step, totals = TrainingLength(steps=5, seconds=60.0, device=torch.device("cpu")), 0, []
    while step < length.at(step):
        now[0] += 20.0 if step == 0 else 0.01 if step < 1_000 else 0.02  # compile, run, and run beside another job
        step += 1
        totals.append(length.at(step))
    assert now[0] == pytest.approx(60, rel=0.01)
    assert totals[100] == pytest.approx(4_000, rel=0.02)
    assert step == pytest.approx(2_500, rel=0.02)
    assert TrainingLength(steps=5, seconds=None, device=torch.device("cpu")).at(1_000) == 5


def test_the_likelihood_of_released_labels_chooses_how_many_vote():
    rng = np.random.default_rng(0)
    transition = torch.full((3, 3), 0.1) + 0.7 * torch.eye(3)
    for size, expected in ((40, {25}), (500, {100, 200, 400})):
        groups = np.repeat(np.arange(6_000 // size), size)
        features = torch.from_numpy(
            rng.normal(size=(groups.max() + 1, 32))[groups] + 0.1 * rng.normal(size=(len(groups), 32))
        )
        truth = rng.integers(3, size=groups.max() + 1)[groups]
        outputs = torch.from_numpy(np.where(rng.random(len(truth)) < 0.7, truth, rng.integers(3, size=len(truth))))
        assert choose_neighbors(features, outputs, transition) in expected


def test_what_is_no_image_is_refused(digits):
    images, labels = digits
    release = protect(pa.table({"y": labels[:50]}), Plan(label="y", epsilon=2), rng=np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="X must be square images of bytes"):
        ImageClassifier().fit(images[:50].astype(float), release)
    with pytest.raises(InvalidInput, match="y must have one label for each of the 40 images, got 50"):
        ImageClassifier().fit(images[:40], release)
