"""What a wrong command is answered with: one sentence that says what was wrong and what would be right, and status 1.

The one table of them. … stands for words that would only repeat lists of names or folders.
"""

import re

import pytest

from launch.command import run_command
from launch.launchers import local

NAMES = [
    ("activation=reluu", "There is no activation=reluu (did you mean relu?); there are bo_prelu, … tanh."),
    ("activation=ReLU", "There is no activation=ReLU (did you mean relu?); there are bo_prelu, …"),
    ("activation=relu,tanhh", "There is no activation=tanhh (did you mean tanh?); there are bo_prelu, …"),
    ("activation=glob(zz*)", "'activation=glob(zz*)' matches no option of activation; there are bo_prelu, …"),
    ("activation=null", "There is no activation=null; there are bo_prelu, …"),
    ("benchmark=cifar15", "There is no benchmark=cifar15 (did you mean cifar51?); there are …"),
    (
        "benchmark.source=minst",
        "There is no image set 'minst'; there are cifar10, cifar100, digits, imagenet32, mnist.",
    ),
    (
        "network=auto,mlpp",
        "There is no network=mlpp (did you mean mlp?); there are actor_critic, auto, cnn, …",
    ),
    ("optimizer=adamW", "There is no optimizer=adamW (did you mean adamw?); there are adam, adamw, rmsprop, sgd."),
    ("hyperparams=bst", "There is no hyperparams=bst (did you mean best?); there are best, …"),
    ("hyperparams=best,worst", "There is no hyperparams=worst…; there are best, …"),
    (
        "hyperparams=grid hyperparams.grid=case",
        "There is no hyperparams.grid=case; there are case_study, benchmarks, continual_rl.",
    ),
    (
        "hyperparams=selected hyperparams.metric=accuracy",
        "hyperparams.metric is 'accuracy'; agent=supervised can be compared by headline, taoa, … final_accuracy, …",
    ),
    (
        "hyperparams.grid=case_study",
        "hyperparams=default has no setting 'grid'; hyperparams=grid has.",
    ),
    ("experiment=nope", "There is no experiment=nope; there are catch, catch_der, …"),
    ("hydra/launcher=slrum", "There is no hydra/launcher=slrum; there are basic, packed…"),
    ("sed=1", "There is no setting 'sed' (did you mean seed?); there are activation, …"),
    (
        "lr=0.1",
        "There is no setting 'lr' (a setting of a choice is written with its group, as in optimizer.lr); there …",
    ),
    ("+unknown=1", "There is no setting 'unknown' …; there are activation, …, seed, … activation.<setting>, …"),
    ("launch.worker=2", "There is no setting 'launch.worker' (did you mean launch.workers?); there are …"),
    ("hydra.nothing=1", "There is no setting 'hydra.nothing'."),
    ("protocol.order=shuffle", "There is no setting 'protocol.order': protocol is only chosen by name; there are …"),
    ("benchmark.epochz=3", "benchmark=permuted_digits has no setting 'epochz'; its settings are source, images, …"),
    ("activation._target_=os.system", "activation=relu has no setting '_target_'; it has no settings."),
    ("benchmark.stand_in=permuted_mnist", "benchmark=permuted_digits has no setting 'stand_in'; its settings are …"),
    ("--dry-run", "There is no flag --dry-run; settings are written key=value, and --help lists them."),
]
TYPES = [
    ("seed=1.5", "seed is 1.5; it must be a whole number."),
    ("seed='1'", "seed is '1'; it must be a whole number."),
    ("seed=0,true", "seed is true; it must be a whole number."),
    ("seed=null", "seed is null; it must be a whole number."),
    ("stream_seed=0..5", "stream_seed is '0..5'; it must be a whole number."),
    ("launch.workers=all", "launch.workers is 'all'; it must be a whole number."),
    ("network.width=true", "network.width is true; it must be a whole number."),
    ("benchmark.batch_size=2.5", "benchmark.batch_size is 2.5; it must be a whole number."),
    ("optimizer.lr=fast", "optimizer.lr is 'fast'; it must be a finite number."),
    ("optimizer.lr=inf", "optimizer.lr is inf; it must be a finite number."),
    ("store=[a]", "store is ['a']; it must be the name of a folder (several values are written one,other …)."),
    ("tracking.entity=[null]", "tracking.entity is [null]; it must be a word (several values are …)."),
    ("activation=true", "There is no activation=true; there are …"),
    ("dry_run=yes", "dry_run is 'yes'; it must be true or false."),
    (
        "hydra.searchpath=nowhere",
        "'hydra.searchpath=nowhere': hydra.searchpath is a list of folders, as in [file:///…].",
    ),
]
RANGES = [
    ("seed=-1", "seed is -1; it must be at least 0."),
    ("launch.workers=0", "launch.workers is 0; it must be at least 1."),
    ("checkpoint_minutes=0", "checkpoint_minutes is 0; it must be above 0."),
    ("benchmark.tasks=0", "benchmark.tasks is 0; it must be at least 1."),
    ("benchmark.tasks=" + "9" * 30, "benchmark.tasks is 999999999999999999999999999999; it must be below 2^63…"),
    ("benchmark.images=5000", "benchmark.images is 5000; digits has 1437 training images."),
    ("benchmark.order=sorted", "benchmark.order is 'sorted'; it must be one of fixed, shuffle, class_blocks."),
    ("activation=leaky_relu activation.negative_slope=-1", "activation.negative_slope is -1.0; it must be at least 0."),
    ("optimizer.lr=0", "optimizer.lr is 0.0; it must be above 0."),
    ("optimizer.reset=always", "optimizer.reset is 'always'; it must be one of never, task."),
    ("optimizer=sgd optimizer.momentum=1", "optimizer.momentum is 1.0; it must be at least 0 and below 1."),
    ("device=gpu", "device is 'gpu'; it must be auto, cpu, cuda or cuda:<number>."),
    ("device=cuda:99", "device is cuda:99, which this machine has not: it has …; device=auto takes what is there."),
    ("mode=fast", "mode is 'fast'; it must be auto, eager, compiled or kernels."),
    ("precision=fp64", "precision is 'fp64'; it must be fp32."),
    ("seed=range(3,3)", "'seed=range(3,3)' names no value at all."),
    ("store=''", "store is an empty word; it must be the name of a folder, or null for the usual one."),
    ("checkpoint_minutes=inf", "checkpoint_minutes is inf; it must be a finite number."),
    ("tracking.live_runs=65", "tracking.live_runs is 65; it must be at most 64."),
    ("store=a-file", "Cannot read …/a-file/calibration/cpu….json: a file stands where a folder is needed; move it …"),
    ("hydra.searchpath=[file:///none]", "A folder of hydra.searchpath does not exist: …, path=/none is not available."),
]
IMPOSSIBLE = [
    (
        "activation=leaky_relu,relu activation.beta=0.1",
        "None of activation=leaky_relu, relu has the setting 'beta'; t…",
    ),
    ("activation=leaky_relu activation.beta=1", "activation=leaky_relu has no setting 'beta'; its settings are negat…"),
    ("optimizer=adam,sgd optimizer.momentm=0.9", "None of optimizer=adam, sgd has the setting 'momentm' (did yo…"),
    ("intervention.strength=0.1", "intervention=none has no setting 'strength'; it has no settings."),
    ("benchmark.epochs=null", "benchmark.epochs and benchmark.steps are both null; one of them must end a task."),
    (
        "activation=rrelu activation.lower=0.8 activation.upper=0.2",
        "activation.lower is 0.8 and activation.upper is 0.2; lower must not be greater than upper.",
    ),
    (
        "activation=bo_prelu activation.alpha_init=2",
        "activation.alpha_init is 2.0; it must lie strictly between activation.alpha_min (0.01) and …alpha_max (1.0).",
    ),
    (
        "activation=rational activation.numerator_degree=4",
        "activation.numerator_degree and denominator_degree are 4 and 4; they must be 3 and 2, 5 and 4, or 7 and 6.",
    ),
    (
        "activation=crelu network.width=91",
        "activation.width=half halves the network's width, which is 91; choose an even network width, or another …",
    ),
    (
        "network=cnn",
        "network.kernel is 5, too large for what conv2 receives (2 × 2 pixels); choose a smaller one, or network.pad…",
    ),
    (
        "benchmark=digits51 protocol=clean benchmark.classes_hard=12",
        "digits has 10 classes; 2 tasks of 12 and 1 in turn, no class twice, need 13. Lower benchmark.tasks or …",
    ),
    (
        "hyperparams=selected seed=100",
        "hyperparams=selected: the store … has no candidates for relu on permuted_digits, …; the same command with …",
    ),
    (
        "hyperparams=grid activation=rrelu activation.upper=0.001",
        "The grid benchmarks of activation=rrelu holds nothing besides what is typed.",
    ),
    ("store=a,b", "store changes no run's numbers, so it cannot be swept; give it one value."),
    ("experiment=demo,table2_mnist", "'experiment=demo,table2_mnist': an experiment is itself a sweep; give one at …"),
    ("experiment=glob(*)", "'experiment=glob(*)': an experiment is itself a sweep; give one at a time."),
    ("seed=interval(0,1)", "'seed=interval(0,1)' is not a list of values; write seed=one,other or =range(0,5)."),
    ("seed=glob(*)", "'seed=glob(*)' is not a list of values; write seed=one,other or =range(0,5)."),
    ("~seed", "'~seed': a setting can only be given another value, as in seed=..."),
    ("activation@here=relu", "'activation@here=relu': a setting can only be given another value, as in activation=..."),
    ("hydra/sweeper=basic", "'hydra/sweeper=basic': hydra/sweeper cannot be changed; runs are always resolved by …"),
    ("hydra.mode=RUN", "'hydra.mode=RUN': hydra.mode cannot be changed; runs are always resolved by our own sweeper."),
    ("--run --multirun", "--run and --multirun exclude each other; give one of them."),
]
COUNTS = [
    ("seed=range(0,100000000000)", "This command names 100,000,000,000 runs (100,000,000,000 of seed)…1,000,000; …"),
    ("optimizer.lr=range(0,1,1e-300)", "This command names more than a million billion runs (… of optimizer.lr)…"),
    (
        "seed=range(0,10000) activation=glob(*) stream_seed=range(0,7)",
        "This command names 1,…,000 runs (10,000 of seed × … of activation × 7 of stream_seed)…1,000,000; …",
    ),
    ("seed=range(0,3,0)", "'seed=range(0,3,0)' cannot be counted: …a step other than 0, as in range(0,5)…"),
    ("optimizer.lr=range(0.001,0.1,0)", "'optimizer.lr=range(0.001,0.1,0)' cannot be counted: …a step other than 0…"),
    ("seed=range(0,inf)", "'seed=range(0,inf)' cannot be counted: a range takes finite numbers…"),
    ("seed=range(0,3,nan)", "'seed=range(0,3,nan)' cannot be counted: a range takes finite numbers…"),
    ("seed=range(0,1,0.1)", "seed is 0.1; it must be a whole number."),
    ("seed=range(5,0)", "'seed=range(5,0)' names no value at all; from 5 to 0 the step has to be below 0."),
    ("seed=range(a,b)", "'seed=range(a,b)' has a range that cannot be read; one is range(5), range(0,5)…"),
    ("seed=range(0,3),5", "'seed=range(0,3),5' has a range or a pattern beside other values; …"),
]
MEMORY = [
    (
        "network.width=1000000",
        "Run … needs … TiB alone, most of it for the 1,0…,010 parameters of its network, and a pack may use … on "
        "cpu…; choose a smaller network.width or another device.",
    ),
    ("launch.workers=100000", "launch.workers is 100,000; this machine has … core…, and may have … workers at most…"),
]
HYDRAS = [
    ("hydra.=1", "'hydra.=1' begins with 'hydra.', which cannot be the name of a setting; …"),
    ("hydra/launcher=null", "'hydra/launcher=null': hydra/launcher is chosen by the name of one option, …"),
    ("hydra.searchpath=[nope://x]", "'hydra.searchpath=[nope://x]': hydra.searchpath is a list of folders, …"),
    ("hydra.sweeper.params=1", "'hydra.sweeper.params=1': hydra.sweeper.params cannot be changed; …"),
    ("experiment=true", "'experiment=true': experiment is chosen by the name of one option, as in experiment=NAME."),
    ("experiment=[demo,1]", "'experiment=[demo,1]': experiment is chosen by the name of one option, …"),
    ("~experiment", "'~experiment': experiment is chosen by the name of one option, as in experiment=NAME."),
    ("experiment=../demo", "There is no experiment=../demo; …"),
    (
        "experiment=demo experiment=table2",
        "experiment is given twice, in 'experiment=demo' and in 'experiment=table2'…",
    ),
    ("--resolve", "--resolve …; give it with --cfg job."),
    ("--cfg nope", "--cfg/-c: invalid choice: 'nope' (choose from …"),
    ("--experimental-rerun x.pkl", "--experimental-rerun is not taken: …"),
]
BRACKET = "has a bracket without its other half, as when the shell takes a word apart at a blank or a *; quote the …"
SHELL = [
    # Unquoted, bash refuses glob(*) itself; other shells hand on what they make of it.
    (["activation=*"], "There is no activation=* (a pattern is written 'activation=glob(*)', in quotes); there are …"),
    (
        ["README.md", "conf"],
        "'README.md' is the name of a file here, as when the shell puts names in the place of *; …",
    ),
    (["activation=glob(README.md", "conf", "tests)"], f"'activation=glob(README.md' {BRACKET}"),
    (["activation=glob(*"], f"'activation=glob(*' {BRACKET}"),
    (["seed=range(0,", "3)"], f"'seed=range(0,' {BRACKET}"),
    (["seed=[1"], f"'seed=[1' {BRACKET}"),
    (
        ["activation=[relu,tanh]"],
        "'activation=[relu,tanh]' is a list; several options are written activation=one,other.",
    ),
    (
        ["seed=[0,1]"],
        "seed is [0, 1]; it must be a whole number (several values are written one,other without brackets).",
    ),
    (
        ["activation=leaky_relu", "activation.negative_slope=[0.1]"],
        "activation.negative_slope is [0.1]; it must be a finite number (several values are written one,other …).",
    ),
    (
        ["seed=0", "seed=1"],
        "seed is given twice, in 'seed=0' and in 'seed=1'; several values are written seed=one,other.",
    ),
    (["seed={0,1}"], "'seed={0,1}' cannot be read as key=value; several values are written seed=0,1, and if …"),
    (["seed=0,", "1"], "'seed=0,' ends with a comma; several values are written without blanks, as in seed=0,1."),
    (["seed=0 1"], "seed is '0 1'; it must be a whole number."),
    (["activation", "=", "relu"], "'activation' is no key=value, as in seed=0, without blanks around the =."),
    (
        ["activation=glob(*) seed=0"],
        "'activation=glob(*) seed=0' holds several settings; give each as a word of its own.",
    ),
    (["seed="], "'seed=' has no value, as where a shell variable is empty; write it right after the =, null for none."),
    (
        ["seed=${SEED}"],
        "'seed=${SEED}' holds ${…}, which nothing fills in; a shell variable is filled in by the shell, unless …",
    ),
    (["seed=1\nseed=2"], "'seed=1\\nseed=2' holds a line break or another control character; a word is one line."),
    (["ｓｔｏｒｅ=x"], "'ｓｔｏｒｅ=x' has a key with other letters than a-z (did you mean store=x?)."),
    (["store=ü,a"], "'store=ü,a' has signs that are read only in quotes (ü): write \"store='ü,a'\"."),
    (["seed=٣"], "seed is '٣'; it must be a whole number."),
    (["activation='relu"], "'activation='relu' has a quote without its other half; …"),
    (
        ["“activation=glob(*)”"],
        "'“activation=glob(*)”' has typographic quotes, which no shell takes away; write ' or \".",
    ),
    (["–m", "seed=0"], "'–m' begins with a long dash; flags are written with - or --."),
]
TABLE = [
    (words.split(), said) for words, said in [*NAMES, *TYPES, *RANGES, *COUNTS, *MEMORY, *HYDRAS, *IMPOSSIBLE]
] + SHELL


@pytest.mark.walk(30)
@pytest.mark.parametrize(("words", "said"), TABLE, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_bad_input_is_answered_in_a_sentence(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    monkeypatch.chdir(tmp_path)
    for name in ("README.md", "a-file"):
        (tmp_path / name).touch()
    dry = [] if any(word.startswith("dry_run") for word in words) else ["dry_run=true"]
    assert run_command([*words, *dry]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1, err
    assert re.fullmatch(".*".join(map(re.escape, said.split("…"))), err[:-1]), err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "a-file"]


def test_workers_that_share_too_little_memory_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(local, "memory_here", lambda workers: 2**30 // workers)
    words = ["network.width=3000", f"store={tmp_path}", "dry_run=true", "device=cpu"]
    assert run_command([*words, "launch.workers=1"]) == 0
    capsys.readouterr()
    assert run_command([*words, "launch.workers=8"]) == 1
    assert re.search(
        r"needs 1\d\d MiB alone, .* may use 128 MiB.*8 workers share.*fewer launch.workers", capsys.readouterr().err
    )


def test_the_table_is_long_enough_and_says_nothing_twice():
    assert len({tuple(words) for words, _ in TABLE}) == len(TABLE) >= 25
