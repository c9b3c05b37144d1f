"""CIFAR-10 and CIFAR-100 from their own images: ImageClassifier's parts, and labels released once at epsilon.

    python -m papers.label_retraining.images --pack DIR          # the set, in parts
    python -m benchmarks.labels_own_images --data DIR --epsilon 1 --representation FILE
    python -m benchmarks.labels_own_images --merge FILE          # adds points from elsewhere to the results

The representation is made where FILE does not have it yet, and is the same for every epsilon; ``--epsilon inf`` trains
on the true labels. The accuracy is that of the last epoch on the test images, which nothing else looks at. How many
targets have their true class is noted for the reader; nothing in a run depends on it. It runs where most of tacit's
dependencies are missing.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import time
from collections.abc import Callable
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
from tacit.labels.learners.images.votes import choose_neighbors, nearest_rows, vote

OUT = Path(__file__).parent / "results" / "labels_own_images.json"
TELL_SECONDS = 10.0
BEGUN = time.perf_counter()


def main(arguments: list[str] | None = None) -> None:
    """Measure one epsilon and add its point to the results."""
    options = _parse(arguments)
    if options.merge:
        _write(OUT, {name: point for path in options.merge for name, point in _points(path).items()})
        return
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    made_up = options.data is None
    seen = pictures.made_up(rows=options.made_up) if made_up else pictures.load(options.data, name=options.set)
    images, test = (
        torch.from_numpy(np.ascontiguousarray(those.transpose(0, 3, 1, 2))).to(options.device)
        for those in (seen.images, seen.test_images)
    )
    torch.manual_seed(options.seed)
    learned = _represent(options, images)
    point = _measure(options, seen, images, test, learned)
    name = f"{options.set}|{options.epsilon:g}|{options.seed}"
    point |= {"representation": learned["told"], "command": _command(options, epochs=point["settings"]["epochs"])}
    _write(options.out, {name: point})
    print(f"{name}: {point['accuracy']:.4f} in {point['seconds']} s", flush=True)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labels_own_images", description=__doc__)
    parser.add_argument("--data", type=Path, help="where the parts are; default: made-up images")
    parser.add_argument("--set", default="cifar10", choices=("cifar10", "cifar100"))
    parser.add_argument("--made-up", type=int, default=600, help="how many, without --data")
    parser.add_argument("--epsilon", type=float, default=1.0, help="inf: the true labels")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--representation", type=Path, help="where it is kept")
    parser.add_argument("--representation-epochs", type=float, default=PatchRepresentation().epochs)
    parser.add_argument("--epochs", type=float, default=VotedTraining().epochs)
    parser.add_argument("--seconds", type=float, help="as many epochs as fit, by the time of the first steps")
    parser.add_argument("--until", type=float, help="as --seconds, all together since the start of the process")
    parser.add_argument("--pace", type=Path, help="with --seconds or --until: where the time of a step is kept")
    parser.add_argument("--checkpoint", type=Path, help="goes on where it stopped; name the same --epochs")
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
    how = PatchRepresentation(epochs=options.representation_epochs)
    if options.quick:
        how = replace(how, patches=4, images=32, hidden=64, outputs=32, patches_read=2)
    body = ResidualNetwork(images.shape[1], width=options.width).to(options.device)
    first = how.reader(body)
    if not options.representation.exists():
        begun = time.perf_counter()
        how.train(images, first, progress=_teller("representation", how.images * how.patches))
        told = {"settings": asdict(how), "seed": options.seed, "seconds": _since(begun)}
        halves = {name: one.half() if one.is_floating_point() else one for name, one in first.state_dict().items()}
        torch.save({"network": halves, "told": told}, options.representation)
    torch.manual_seed(options.seed)  # a representation that was there gives the same point
    kept = torch.load(options.representation, map_location=options.device)
    first.load_state_dict(kept["network"])
    return {"body": body.state_dict(), "features": how.read(images, first), "told": kept["told"]}


def _measure(
    options: argparse.Namespace, seen: pictures.Pictures, images: Tensor, test: Tensor, learned: dict[str, Any]
) -> dict[str, Any]:
    evidence = _release(options, seen).to(images.device)
    features = learned["features"]
    training = VotedTraining(epochs=options.epochs)
    if options.quick:
        training = replace(training, batch_size=16, renewals=6)
    training = replace(training, neighbors=choose_neighbors(features, evidence.outputs, evidence.transition))
    body = ResidualNetwork(images.shape[1], width=options.width).to(images.device)
    body.load_state_dict(learned["body"])
    network = ImageNetwork(body, seen.classes).to(images.device)
    truth = torch.from_numpy(seen.labels).to(images.device)
    if options.seconds is not None or options.until is not None:
        pace = _pace(options.pace, training, images, network, evidence, features)
        seconds = options.seconds if options.until is None else options.until - _since(BEGUN)
        training = replace(training, epochs=_epochs_in(seconds, training, len(images), pace))
    print(training, flush=True)
    checkpoint = TrainingCheckpoint(options.checkpoint, identity=identify(evidence.outputs, str(training)))
    notes: list[dict[str, float]] = []
    begun = time.perf_counter()

    def note(targets: AgreedTargets, opinions: ClassOpinions) -> None:
        right = opinions.posterior(vote_weight=training.vote_weight).argmax(dim=1) == truth
        notes.append({
            "seconds": _since(begun),
            "targets": round(len(targets.rows) / len(truth), 4),
            "targets_right": _share(targets.classes == truth[targets.rows]),
            "votes_right": _share(opinions.votes.argmax(dim=1) == truth),
            "posterior_right": _share(right),
        })  # fmt: skip
        print(notes[-1], flush=True)

    progress = _teller("training", training.batch_size)
    average = training.train(images, network, evidence, features, progress=progress, watch=note, checkpoint=checkpoint)
    _, probabilities = read_images(average, test)
    right = probabilities.argmax(dim=1).cpu().numpy() == seen.test_labels
    return {
        "epsilon": options.epsilon, "seed": options.seed, "accuracy": round(float(right.mean()), 4),
        "seconds": _since(begun), "released_right": _share(evidence.outputs == truth),
        "settings": asdict(training), "renewals": notes, "date": time.strftime("%Y-%m-%d"),
        "machine": torch.cuda.get_device_name() if options.device == "cuda" else "a processor",
        "torch": torch.__version__,
    }  # fmt: skip


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


def _pace(
    kept: Path | None,
    training: VotedTraining,
    images: Tensor,
    network: ImageNetwork,
    evidence: LabelEvidence,
    features: Tensor,
) -> dict[str, float]:
    """Return the seconds of a step and of a renewal, on a copy, or as they were kept."""
    if kept is not None and kept.exists():
        known: dict[str, float] = json.loads(kept.read_text())
        return known
    counted = 60
    times = []

    def clock(done: int, steps: int) -> None:
        if done in (steps - counted, steps):
            if images.is_cuda:
                torch.cuda.synchronize()
            times.append(time.perf_counter())

    trial = replace(training, renewals=1, epochs=2 * counted * training.batch_size / len(images))
    begun = time.perf_counter()
    learned = trial.train(images, copy.deepcopy(network), evidence, features, progress=clock)
    asked = time.perf_counter()
    read, _ = read_images(learned, images)
    near = nearest_rows(read, count=training.neighbors or 1)
    vote(near, evidence.outputs, evidence.transition).sum().item()
    pace = {"step": (times[1] - times[0]) / counted, "renewal": time.perf_counter() - asked}
    print(f"a trial of {asked - begun:.0f} s: {pace}", flush=True)
    if kept is not None:
        kept.write_text(json.dumps(pace))
    return pace


def _epochs_in(seconds: float, training: VotedTraining, images: int, pace: dict[str, float]) -> float:
    spent = seconds - (training.renewals + 1) * pace["renewal"]
    return round(0.98 * spent / pace["step"] * training.batch_size / images, 1)


def _points(path: Path) -> dict[str, dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))["points"] if path.exists() else {}


def _write(path: Path, points: dict[str, dict[str, Any]]) -> None:
    """Add points to a file."""
    path.write_text(json.dumps({"points": _points(path) | points}, indent=1) + "\n", encoding="utf-8")


def _command(options: argparse.Namespace, *, epochs: float) -> str:
    """Return the call, with names for folders and files."""
    return (
        "python -m benchmarks.labels_own_images --data DIR --representation FILE --out FILE "
        f"--set {options.set} --representation-epochs {options.representation_epochs:g} "
        f"--epsilon {options.epsilon:g} --seed {options.seed} --epochs {epochs:g}"
    )


def _teller(stage: str, each: int) -> Callable[[int, int], None]:
    """Return what prints the steps done, and how many images a second, now and then."""
    told = [time.perf_counter(), 0.0]

    def tell(done: int, steps: int) -> None:
        now = time.perf_counter()
        if now - told[0] > TELL_SECONDS or done == steps:
            print(f"{stage} {done}/{steps}: {each * (done - told[1]) / (now - told[0]):,.0f} per second", flush=True)
            told[:] = [now, done]

    return tell


def _since(begun: float) -> float:
    return round(time.perf_counter() - begun, 1)


def _share(right: Tensor) -> float:
    return round(float(right.float().mean()), 4)


if __name__ == "__main__":
    main()
