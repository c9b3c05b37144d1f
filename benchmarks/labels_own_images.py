"""CIFAR-10 from its own images: what ImageClassifier's parts learn from labels released once at epsilon.

    python -m papers.label_retraining.images --pack DIR          # the set, in parts
    python -m benchmarks.labels_own_images --data DIR --epsilon 1 --representation FILE

The representation is made where FILE does not have it yet, and is the same for every epsilon. The accuracy is that of
the last epoch on the test images, which nothing else looks at. How many targets have their true class is noted for the
reader; nothing in a run depends on it. It runs where most of tacit's dependencies are missing.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from papers.label_retraining.images import parts, pictures
from tacit.labels.learners.images.evidence import LabelEvidence
from tacit.labels.learners.images.network import ImageNetwork, ResidualNetwork
from tacit.labels.learners.images.reading import read_images
from tacit.labels.learners.images.representation import PatchRepresentation
from tacit.labels.learners.images.targets import AgreedTargets, ClassOpinions
from tacit.labels.learners.images.training import VotedTraining
from tacit.labels.learners.images.votes import nearest_rows, vote

OUT = Path(__file__).parent / "results" / "labels_own_images.json"
TELL_SECONDS = 10.0


def main(arguments: list[str] | None = None) -> None:
    """Measure one epsilon and add its point to the results."""
    options = _parse(arguments)
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    made_up = options.data is None
    seen = pictures.made_up(rows=options.made_up) if made_up else pictures.load(options.data, name="cifar10")
    images, test = (
        torch.from_numpy(np.ascontiguousarray(those.transpose(0, 3, 1, 2))).to(options.device)
        for those in (seen.images, seen.test_images)
    )
    torch.manual_seed(options.seed)
    learned = _represent(options, images)
    point = _measure(options, seen, images, test, learned)
    _keep(options, point, learned["told"])


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labels_own_images", description=__doc__)
    parser.add_argument("--data", type=Path, help="where the parts are; default: made-up images")
    parser.add_argument("--made-up", type=int, default=600, help="how many, without --data")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--representation", type=Path, required=True, help="where it is kept")
    parser.add_argument("--representation-epochs", type=float, default=PatchRepresentation().epochs)
    parser.add_argument("--epochs", type=float, default=VotedTraining().epochs)
    parser.add_argument("--seconds", type=float, help="as many epochs as fit, by the time of the first steps")
    parser.add_argument("--generations", type=int, default=VotedTraining().generations)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--quick", action="store_true", help="small networks and batches")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, default=OUT)
    return parser.parse_args(arguments)


def _represent(options: argparse.Namespace, images: Tensor) -> dict[str, Any]:
    """Return the body's weights and what it makes of each image, and how that was learned."""
    if options.representation.exists():
        learned: dict[str, Any] = torch.load(options.representation, map_location=options.device)
        return learned
    how = PatchRepresentation(epochs=options.representation_epochs)
    if options.quick:
        how = replace(how, patches=4, images=32, hidden=64, outputs=32, patches_read=2)
    body = ResidualNetwork(images.shape[1], width=options.width).to(options.device)
    begun = time.perf_counter()
    features = how.learn(images, body, progress=_teller("representation", how.images * how.patches))
    told = {"settings": asdict(how), "seed": options.seed, "seconds": _since(begun)}
    learned = {"body": body.state_dict(), "features": features.half(), "told": told}
    torch.save(learned, options.representation)
    return learned


def _measure(
    options: argparse.Namespace, seen: pictures.Pictures, images: Tensor, test: Tensor, learned: dict[str, Any]
) -> dict[str, Any]:
    mechanism = parts.RandomizedResponse(epsilon=options.epsilon, classes=seen.classes)
    rng = np.random.default_rng([options.seed, round(1000 * options.epsilon)])
    released = mechanism.randomize(seen.labels, rng=rng)
    evidence = LabelEvidence(
        outputs=torch.from_numpy(released), transition=torch.from_numpy(mechanism.transition()).float()
    ).to(images.device)
    training = VotedTraining(epochs=options.epochs, generations=options.generations)
    if options.quick:
        training = replace(training, batch_size=16, renewals=6, neighbors=30)
    body = ResidualNetwork(images.shape[1], width=options.width).to(images.device)
    body.load_state_dict(learned["body"])
    network = ImageNetwork(body, seen.classes).to(images.device)
    truth = torch.from_numpy(seen.labels).to(images.device)
    features = learned["features"].float()
    if options.seconds is not None:
        training = replace(training, epochs=_epochs_in(options.seconds, training, images, network, evidence, features))
    print(training, flush=True)
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
    average = training.train(images, network, evidence, features, rng=rng, progress=progress, watch=note)
    _, probabilities = read_images(average, test)
    right = probabilities.argmax(dim=1).cpu().numpy() == seen.test_labels
    return {
        "epsilon": options.epsilon, "seed": options.seed, "accuracy": round(float(right.mean()), 4),
        "seconds": _since(begun), "released_right": round(float((released == seen.labels).mean()), 4),
        "settings": asdict(training), "renewals": notes,
    }  # fmt: skip


def _epochs_in(
    seconds: float, training: VotedTraining, images: Tensor, network: ImageNetwork, evidence: LabelEvidence,
    features: Tensor,
) -> float:  # fmt: skip
    """Return how many epochs a generation may have, by the time of some steps and a renewal on a copy."""
    counted, each = 60, training.batch_size / len(images)
    times = []

    def clock(done: int, steps: int) -> None:
        if done in (steps - counted, steps):
            if images.is_cuda:
                torch.cuda.synchronize()
            times.append(time.perf_counter())

    trial = replace(training, generations=1, renewals=1, epochs=2 * counted * each)
    asked = time.perf_counter()
    tried, rng = copy.deepcopy(network), np.random.default_rng(0)
    learned = trial.train(images, tried, evidence, features, rng=rng, progress=clock)
    step = (times[1] - times[0]) / counted
    begun = time.perf_counter()
    read, _ = read_images(learned, images)
    vote(nearest_rows(read, count=training.neighbors), evidence.outputs, evidence.transition).sum().item()
    renewal = time.perf_counter() - begun
    print(f"a trial of {begun - asked:.0f} s: {step:.4f} s a step, {renewal:.2f} s a renewal", flush=True)
    spent = seconds / training.generations - (training.renewals + 1) * renewal
    return round(0.98 * spent / step * each, 1)


def _keep(options: argparse.Namespace, point: dict[str, Any], representation: dict[str, Any]) -> None:
    known = json.loads(options.out.read_text())["points"] if options.out.exists() else {}
    point |= {"representation": representation, "command": _command(options)}
    known[f"cifar10|{options.epsilon:g}|{options.seed}"] = point
    machine = torch.cuda.get_device_name() if options.device == "cuda" else "a processor"
    kept = {"date": time.strftime("%Y-%m-%d"), "machine": machine, "torch": torch.__version__, "points": known}
    options.out.write_text(json.dumps(kept, indent=1) + "\n")
    print(f"epsilon {options.epsilon:g} seed {options.seed}: {point['accuracy']:.4f} in {point['seconds']} s")


def _command(options: argparse.Namespace) -> str:
    """Return the call, with names for folders and files."""
    length = f"--epochs {options.epochs:g}" if options.seconds is None else f"--seconds {options.seconds:g}"
    return (
        "python -m benchmarks.labels_own_images --data DIR --representation FILE --out FILE "
        f"--representation-epochs {options.representation_epochs:g} --epsilon {options.epsilon:g} {length}"
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
