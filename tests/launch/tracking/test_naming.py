"""What runs are called in W&B."""

import pytest

from launch.command import resolve
from launch.tracking.client import described
from launch.tracking.wandb.naming import LONGEST, run_name
from plasticity_lab.records.classifier import CLASSIFIER


def named(run, **science):
    return run_name(described(run, CLASSIFIER) | {"science": run.science | science})


def names_of(*words):
    return [named(run) for run in resolve([*words, "tracking=store"]).runs]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ((), "relu lr=0.001 · permuted_digits · seed 0"),
        (
            ("activation=leaky_relu", "activation.negative_slope=0.3", "intervention=l2_init", "seed=3"),
            "leaky_relu negative_slope=0.3 lr=0.001 · permuted_digits · l2_init strength=0.001 · seed 3",
        ),
        (
            ("activation=smooth_leaky", "schedule=smoke", "optimizer=sgd", "optimizer.momentum=0.9", "stream_seed=7"),
            "smooth_leaky c=5 p=3 alpha=0.1 lr=0.01 · permuted_digits tasks=3 steps=100 · sgd momentum=0.9"
            " · seed 0 stream_seed=7",
        ),
        (
            ("benchmark=cifar51", "network=cnn", "protocol=clean", "activation=swiglu", "activation.width=half"),
            "swiglu width=half lr=0.001 · cifar51 order=shuffle subset=drawn · seed 0",
        ),
    ],
)
def test_a_name_says_what_is_searched_and_what_is_not_the_default(words, name):
    assert names_of(*words) == [name]


@pytest.mark.walk(4)
@pytest.mark.parametrize(
    "swept",
    [
        "network.width=100,200",
        "network.init=default,kaiming",
        "optimizer=adam,adamw,sgd,rmsprop",
        "optimizer.reset=never,task",
        "optimizer.beta2=0.999,0.99",
        "intervention=none,l2_init",
        "intervention.half=false,true",
        "benchmark=permuted_digits,random_label_digits",
        "benchmark.eval_images=null,100",
        "benchmark.batch_size=16,32",
        "schedule=full,demo,smoke",
        "protocol=as_published,clean",
        "stream_seed=1,2",
        "init_seed=1,2",
        "seed=1,2",
    ],
)
def test_whatever_is_swept_tells_names_apart(swept):
    words = ["intervention=l2_init", swept] if swept.startswith("intervention.") else [swept]
    names = names_of(*words)
    assert len(set(names)) == len(names) == swept.count(",") + 1


def test_a_name_that_is_too_long_lacks_whole_words_and_ends_with_the_run_id():
    grid = ("activation=rational", "hyperparams=grid", "schedule=smoke", "protocol=clean")
    own = ("intervention=snr", "intervention.window=77", "intervention.min_age=55", "intervention.min_count=4")
    runs = resolve([*grid, *own, "tracking=store"]).runs
    names = {run.id: named(run) for run in runs}
    assert len(set(names.values())) == len(runs)
    assert all(len(name) <= LONGEST for name in names.values())
    words = {f"{setting}={value}" for run in runs for setting, value in run.science["intervention"].items()}
    for run, name in names.items():
        *_, intervention, more, seed, end = name.split(" · ")
        assert (more, seed, end) == ("5 more", "seed 0", run)
        assert intervention.split()[0] == "snr"
        assert words.issuperset(intervention.split()[1:])


def test_a_game_is_named_even_if_it_is_the_default():
    assert names_of("benchmark=games") == ["relu lr=6.25e-05 · games game=bricks · seed 0"]
    assert names_of("benchmark=mujoco") == ["relu lr=0.0001 · mujoco bodies=[halfcheetah] · seed 0"]
    assert names_of("benchmark=games_cycle") == ["relu lr=6.25e-05 · games_cycle · seed 0"]
