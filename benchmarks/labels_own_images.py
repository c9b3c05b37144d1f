"""CIFAR-10 and CIFAR-100 from their own images: ImageClassifier's parts, and labels released once at epsilon.

    python -m papers.label_retraining.images --pack DIR          # the set, in parts
    python -m benchmarks.labels_own_images --data DIR --epsilon 1 --representation FILE
    python -m benchmarks.labels_own_images --merge FILE          # adds points from elsewhere to the results

The representation is made where FILE does not have it yet, and is the same for every epsilon; ``--epsilon inf`` trains
on the true labels. ``--seconds`` and ``--representation-seconds`` train for as long as that. The accuracy is that of
the last epoch on the test images, which nothing else looks at. How many targets have their true class is noted for the
reader; nothing in a run depends on it. The labels of ``--held`` images are released and not trained on: their
likelihood is what settings may be chosen by. It runs where most of tacit's dependencies are missing.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from papers.label_retraining.images import parts, pictures
from tacit.labels.learners.images.checkpoint import TrainingCheckpoint, identify
from tacit.labels.learners.images.network import ImageNetwork, ResidualNetwork
from tacit.labels.learners.images.reading import read_images
from tacit.labels.learners.images.representation import PatchRepresentation
from tacit.labels.learners.images.targets import AgreedTargets, ClassOpinions, LabelEvidence
from tacit.labels.learners.images.training import VotedTraining
from tacit.labels.learners.images.votes import choose_neighbors

OUT = Path(__file__).parent / "results" / "labels_own_images.json"
TELL_SECONDS = 10.0
RESTARTS = 2  # of a training that diverges


def main(arguments: list[str] | None = None) -> None:
    """Measure one epsilon and add its point to the results."""
    options = _parse(arguments)
    if options.merge:
        _write(OUT, {name: point for path in options.merge for name, point in _points(path).items()})
        return
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    torch._dynamo.config.suppress_errors = True  # what does not compile runs as it is
    made_up = options.data is None
    seen = pictures.made_up(rows=options.made_up) if made_up else pictures.load(options.data, name=options.set)
    images, test = (
        torch.from_numpy(np.ascontiguousarray(those.transpose(0, 3, 1, 2))).to(options.device)
        for those in (seen.images, seen.test_images)
    )
    torch.manual_seed(options.seed)
    learned = _represent(options, images)
    if options.epsilon is None:
        return
    point = _measure(options, seen, images, test, learned)
    name = f"{options.set}|{options.epsilon:g}|{options.seed}"
    point |= {"representation": learned["told"], "command": _command(options, learned["told"]["settings"])}
    _write(options.out, {name: point})
    print(f"{name}: {point['accuracy']:.4f} in {point['seconds']} s", flush=True)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labels_own_images", description=__doc__)
    parser.add_argument("--data", type=Path, help="where the parts are; default: made-up images")
    parser.add_argument("--set", default="cifar10", choices=("cifar10", "cifar100"))
    parser.add_argument("--made-up", type=int, default=600, help="how many, without --data")
    parser.add_argument("--epsilon", type=float, help="inf: the true labels; default: the representation, no more")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--representation", type=Path, help="where it is kept")
    parser.add_argument("--representation-epochs", type=float, default=PatchRepresentation().epochs)
    parser.add_argument("--epochs", type=float, default=VotedTraining().epochs)
    parser.add_argument("--representation-seconds", type=float, help="as many epochs as fit")
    parser.add_argument("--seconds", type=float, help="as many epochs as fit")
    parser.add_argument("--rate", type=float, default=VotedTraining().rate)
    parser.add_argument("--held", type=int, default=0, help="images whose released labels are not trained on")
    parser.add_argument("--checkpoint", type=Path, help="goes on where it stopped; name the same settings")
    parser.add_argument("--weights", type=Path, help="where the trained network is kept, in half precision")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--quick", action="store_true", help="small networks and batches")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--merge", type=Path, nargs="+", help="files of points to add to the results, no more")
    options = parser.parse_args(arguments)
    if options.representation is None and not options.merge:
        parser.error("--representation is needed")
    return options


def _represent(options: argparse.Namespace, images: Tensor) -> dict[str, Any]:
    """Return the body's weights and what it makes of each image, and how that was learned."""
    how = PatchRepresentation(epochs=options.representation_epochs, seconds=options.representation_seconds)
    if options.quick:
        how = replace(how, patches=4, images=32, hidden=64, outputs=32, patches_read=2)
    body = ResidualNetwork(images.shape[1], width=options.width).to(options.device)
    first = how.reader(body)
    if not options.representation.exists():
        begun, teller = time.perf_counter(), _Teller("representation", how.images * how.patches)
        how.train(images, first, progress=teller)
        told = {"settings": asdict(how), "seed": options.seed, "seconds": _since(begun), "steps": teller.steps}
        torch.save({"network": _halved(first), "told": told}, options.representation)
    torch.manual_seed(options.seed)  # a representation that was there gives the same point
    kept = torch.load(options.representation, map_location=options.device)
    first.load_state_dict(kept["network"])
    return {"body": body.state_dict(), "features": how.read(images, first), "told": kept["told"]}


def _measure(
    options: argparse.Namespace, seen: pictures.Pictures, images: Tensor, test: Tensor, learned: dict[str, Any]
) -> dict[str, Any]:
    released, features = _release(options, seen).to(images.device), learned["features"]
    held = torch.randperm(len(images), generator=torch.Generator().manual_seed(options.seed))[: options.held]
    held = held.to(images.device)
    evidence = replace(released, outputs=released.outputs.index_fill(0, held, -1))
    training = VotedTraining(epochs=options.epochs, seconds=options.seconds, rate=options.rate)
    if options.quick:
        training = replace(training, batch_size=16, renewals=6)
    training = replace(training, neighbors=choose_neighbors(features, evidence.outputs, evidence.transition))
    print(training, flush=True)
    truth = torch.from_numpy(seen.labels).to(images.device)
    watch = _Watch(truth, evidence, vote_weight=training.vote_weight)
    teller = _Teller("training", training.batch_size)
    checkpoint = TrainingCheckpoint(options.checkpoint, identity=identify(evidence.outputs, str(training)))
    while True:
        try:
            body = ResidualNetwork(images.shape[1], width=options.width).to(images.device)
            body.load_state_dict(learned["body"])
            network = ImageNetwork(body, seen.classes).to(images.device)
            average = training.train(
                images, network, evidence, features, progress=teller, watch=watch, checkpoint=checkpoint
            )
            break
        except Diverged:
            watch.restarts += 1
            left = None if training.seconds is None else training.seconds - watch.seconds
            training = replace(training, rate=training.rate / 3, seconds=left)
            print(f"diverged; again at rate {training.rate:g}", flush=True)
    if options.weights:
        torch.save(_halved(average), options.weights)
    _, probabilities = read_images(average, test)
    right = probabilities.argmax(dim=1).cpu().numpy() == seen.test_labels
    return {
        "epsilon": options.epsilon, "seed": options.seed, "accuracy": round(float(right.mean()), 4),
        "seconds": watch.seconds, "steps": teller.steps, "released_right": _share(released.outputs == truth),
        "held_likelihood": _likelihood(average, images[held], replace(released, outputs=released.outputs[held])),
        "passes": _passes(training, teller.steps, len(images)), "settings": asdict(training), "renewals": watch.notes,
        "date": time.strftime("%Y-%m-%d"),
        "machine": torch.cuda.get_device_name() if options.device == "cuda" else "a processor",
        "torch": torch.__version__,
    }  # fmt: skip


class Diverged(Exception):
    """The neighbors in a network's features know less than a quarter of what they knew of released labels at first."""


class _Watch:
    """Notes at each renewal what is right, for the reader, and stops a training that diverges, by released labels."""

    def __init__(self, truth: Tensor, evidence: LabelEvidence, *, vote_weight: float) -> None:
        self._outputs, self._transition, self._truth = evidence.outputs, evidence.transition, truth
        self._known, self._vote_weight = torch.where(evidence.outputs >= 0)[0], vote_weight
        self._begun, self.notes, self.restarts = time.perf_counter(), list[dict[str, Any]](), 0

    @property
    def seconds(self) -> float:
        return _since(self._begun)

    def __call__(self, targets: AgreedTargets, opinions: ClassOpinions) -> None:
        right = opinions.posterior(vote_weight=self._vote_weight).argmax(dim=1) == self._truth
        votes = opinions.votes @ self._transition
        gain = float(votes[self._known, self._outputs[self._known]].log().mean()) + math.log(votes.shape[1])
        self.notes.append({
            "seconds": self.seconds,
            "targets": round(len(targets.rows) / len(self._truth), 4),
            "targets_right": _share(targets.classes == self._truth[targets.rows]),
            "votes_right": _share(opinions.votes.argmax(dim=1) == self._truth),
            "posterior_right": _share(right),
            "votes_gain": round(gain, 5),
        })  # fmt: skip
        print(self.notes[-1], flush=True)
        first = self.notes[0]["votes_gain"]
        if self.restarts < RESTARTS and first > 0 and not gain > first / 4:
            raise Diverged


def _likelihood(network: ImageNetwork, images: Tensor, released: LabelEvidence) -> float | None:
    """Return the mean log likelihood of released labels that were not trained on."""
    if not len(images):
        return None
    _, probabilities = read_images(network, images)
    fits = (probabilities @ released.transition).gather(1, released.outputs[:, None])
    return round(float(fits.log().mean()), 5)


def _passes(training: VotedTraining, steps: int, images: int) -> int:
    """Return how many images the network saw, mixed ones once, with the average's views and the renewals."""
    size = min(training.batch_size, images)
    return steps * (size + 2 * max(2, size // 4)) + training.renewals * 2 * images


def _release(options: argparse.Namespace, seen: pictures.Pictures) -> LabelEvidence:
    """Release every label once; at epsilon infinity, as it is."""
    if math.isinf(options.epsilon):
        return LabelEvidence(outputs=torch.from_numpy(seen.labels), transition=torch.eye(seen.classes))
    mechanism = parts.RandomizedResponse(epsilon=options.epsilon, classes=seen.classes)
    rng = np.random.default_rng([options.seed, round(1000 * options.epsilon)])
    return LabelEvidence(
        outputs=torch.from_numpy(mechanism.randomize(seen.labels, rng=rng)),
        transition=torch.from_numpy(mechanism.transition()).float(),
    )


def _halved(network: torch.nn.Module) -> dict[str, Tensor]:
    return {name: one.half() if one.is_floating_point() else one for name, one in network.state_dict().items()}


def _points(path: Path) -> dict[str, dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))["points"] if path.exists() else {}


def _write(path: Path, points: dict[str, dict[str, Any]]) -> None:
    """Add points to a file."""
    path.write_text(json.dumps({"points": _points(path) | points}, indent=1) + "\n", encoding="utf-8")


def _command(options: argparse.Namespace, learned: dict[str, Any]) -> str:
    """Return the call, with names for folders and files."""
    represented = f"epochs {learned['epochs']:g}"
    if learned.get("seconds") is not None:
        represented = f"seconds {learned['seconds']:g}"
    trained = f"epochs {options.epochs:g}" if options.seconds is None else f"seconds {options.seconds:g}"
    return (
        "python -m benchmarks.labels_own_images --data DIR --representation FILE --out FILE "
        f"--set {options.set} --representation-{represented} "
        f"--epsilon {options.epsilon:g} --seed {options.seed} --{trained} --held {options.held}"
    )


class _Teller:
    """Prints the steps done, and how many images a second, now and then."""

    def __init__(self, stage: str, each: int) -> None:
        self._stage, self._each, self._told, self.steps = stage, each, time.perf_counter(), 0
        self._before = 0

    def __call__(self, done: int, steps: int) -> None:
        now, self.steps = time.perf_counter(), done
        if now - self._told > TELL_SECONDS or done == steps:
            pace = self._each * (done - self._before) / (now - self._told)
            print(f"{self._stage} {done}/{steps}: {pace:,.0f} per second", flush=True)
            self._told, self._before = now, done


def _since(begun: float) -> float:
    return round(time.perf_counter() - begun, 1)


def _share(right: Tensor) -> float:
    return round(float(right.float().mean()), 4)


if __name__ == "__main__":
    main()
