"""A small study that tests register, train and read."""

import json
from dataclasses import asdict, replace

from analysis.__main__ import main
from analysis.compare.preregistered.registration import read

STUDY = ("benchmark=permuted_digits", "intervention=none,l2_init", "seed=0,1,2")
FIX = ["--hypothesis", "L2-Init is better than none", "--metric", "taoa"]


def fixed(store, *words):
    return main(["preregister", "l2_helps", *FIX, *words, "--store", str(store.root)])


def read_again(store, capsys):
    """What a comparison as it was fixed says of it: the word, and the whole sentence."""
    assert main(["compare", "--preregistered", "l2_helps", "--no-figure", "--store", str(store.root)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    sentence = said[said.index("Preregistered as") : said.index("Hypothesis:")]
    return sentence.partition(" runs: ")[2].strip(), said


def first_run(store):
    return min(read(store, "l2_helps").registration.runs)


def fixed_anew(store):
    """Another metric, with the hash that belongs to it."""
    registration = replace(read(store, "l2_helps").registration, metric="final_accuracy")
    content = {**asdict(registration), "hash": registration.hash}
    store.registration("l2_helps").write_text(json.dumps(content))


def gone(store):
    store.record(first_run(store)).unlink()
