"""What a wrong command is answered with: one sentence that names what was wrong and what would be right, and status 1.

The one table of them: words of a command, and the keys, values and ways out that the sentence names.
"""

import pytest

from launch.command import run_command
from launch.launchers import local

NAMES = [
    ("activation=reluu", "activation=reluu; relu?; bo_prelu"),
    ("activation=ReLU", "activation=ReLU; relu?"),
    ("activation=relu,tanhh", "activation=tanhh; tanh?"),
    ("activation=glob(zz*)", "activation=glob(zz*); bo_prelu"),
    ("activation=null", "activation=null; bo_prelu"),
    ("benchmark.source=minst", "minst; mnist"),
    ("hyperparams=best,worst", "hyperparams=worst; best"),
    ("hyperparams=grid hyperparams.grid=case", "hyperparams.grid=case; case_study"),
    ("hyperparams=selected hyperparams.metric=accuracy", "hyperparams.metric; accuracy; headline; final_accuracy"),
    ("hyperparams.grid=case_study", "hyperparams=default; grid; hyperparams=grid"),
    ("experiment=nope", "experiment=nope; catch"),
    ("hydra/launcher=slrum", "hydra/launcher=slrum; packed"),
    ("sed=1", "sed; seed?"),
    ("lr=0.1", "lr; optimizer.lr"),
    ("+unknown=1", "unknown; seed; activation.<setting>"),
    ("launch.worker=2", "launch.worker; launch.workers?"),
    ("hydra.nothing=1", "hydra.nothing"),
    ("protocol.order=shuffle", "protocol.order"),
    ("benchmark.epochz=3", "benchmark=permuted_digits; epochz; source"),
    ("activation._target_=os.system", "activation=relu; _target_"),
    ("benchmark.stand_in=permuted_mnist", "benchmark=permuted_digits; stand_in; source"),
    ("--dry-run", "--dry-run; key=value; --help"),
]
TYPES = [
    ("seed=1.5", "seed is 1.5; whole number"),
    ("seed='1'", "seed is '1'; whole number"),
    ("seed=0,true", "seed is true; whole number"),
    ("stream_seed=0..5", "stream_seed is '0..5'; whole number"),
    ("network.width=true", "network.width is true; whole number"),
    ("benchmark.batch_size=2.5", "benchmark.batch_size is 2.5; whole number"),
    ("optimizer.lr=inf", "optimizer.lr is inf; finite"),
    ("store=[a]", "store is ['a']; folder"),
    ("tracking.entity=[null]", "tracking.entity is [null]; word"),
    ("activation=true", "activation=true"),
    ("dry_run=yes", "dry_run is 'yes'; true or false"),
    ("hydra.searchpath=nowhere", "hydra.searchpath=nowhere; [file:///"),
]
RANGES = [
    ("seed=-1", "seed is -1; at least 0"),
    ("launch.workers=0", "launch.workers is 0; at least 1"),
    ("checkpoint_minutes=0", "checkpoint_minutes is 0; above 0"),
    ("benchmark.tasks=" + "9" * 30, "benchmark.tasks; 2^63"),
    ("benchmark.images=5000", "benchmark.images is 5000; 1437"),
    ("benchmark.order=sorted", "benchmark.order is 'sorted'; fixed, shuffle, class_blocks"),
    ("activation=leaky_relu activation.negative_slope=-1", "activation.negative_slope is -1.0; at least 0"),
    ("optimizer=sgd optimizer.momentum=1", "optimizer.momentum is 1.0; at least 0 and below 1"),
    ("device=gpu", "device is 'gpu'; auto, cpu, cuda"),
    ("device=cuda:99", "device is cuda:99; device=auto"),
    ("mode=fast", "mode is 'fast'; auto, eager, compiled or kernels"),
    ("precision=fp64", "precision is 'fp64'; fp32"),
    ("store=''", "store is; null"),
    ("store=a-file", "a-file; a file is in the place of a folder"),
    ("hydra.searchpath=[file:///none]", "hydra.searchpath; /none"),
]
IMPOSSIBLE = [
    ("benchmark.epochs=null", "benchmark.epochs; benchmark.steps"),
    ("activation=rrelu activation.lower=0.8 activation.upper=0.2", "activation.lower is 0.8; activation.upper is 0.2"),
    ("activation=bo_prelu activation.alpha_init=2", "activation.alpha_init is 2.0; 0.01; 1.0"),
    ("activation=rational activation.numerator_degree=4", "activation.numerator_degree; 3 and 2, 5 and 4, or 7 and 6"),
    ("activation=crelu network.width=91", "activation.width=half; 91; network width"),
    ("network=cnn", "network.kernel is 5; 2 × 2; network.pad"),
    ("benchmark=digits51 protocol=clean benchmark.classes_hard=12", "10 classes; need 13; benchmark.tasks"),
    ("hyperparams=selected seed=100", "hyperparams=selected; relu; permuted_digits"),
    ("hyperparams=grid activation=rrelu activation.upper=0.001", "benchmarks; activation=rrelu"),
    ("store=a,b", "store; one value"),
    ("experiment=demo,table2_mnist", "experiment=demo,table2_mnist"),
    ("seed=interval(0,1)", "seed=interval(0,1); seed=one,other; range(0,5)"),
    ("~seed", "~seed; seed=..."),
    ("activation@here=relu", "activation@here=relu; activation=..."),
    ("hydra/sweeper=basic", "hydra/sweeper=basic"),
    ("--run --multirun", "--run; --multirun"),
    ("network.width=1000000", "parameters of its network; network.width; another device"),
    ("launch.workers=100000", "launch.workers is 100,000"),
]
COUNTS = [
    ("seed=range(0,100000000000)", "100,000,000,000 of seed; 1,000,000"),
    ("optimizer.lr=range(0,1,1e-300)", "million billion; optimizer.lr"),
    ("seed=range(0,10000) activation=glob(*) stream_seed=range(0,7)", "10,000 of seed; 7 of stream_seed; 1,000,000"),
    ("seed=range(0,3,0)", "seed=range(0,3,0); a step other than 0"),
    ("seed=range(0,inf)", "seed=range(0,inf); finite"),
    ("seed=range(5,0)", "seed=range(5,0); below 0"),
    ("seed=range(3,3)", "seed=range(3,3)"),
    ("seed=range(a,b)", "seed=range(a,b); range(0,5)"),
    ("seed=range(0,3),5", "seed=range(0,3),5"),
]
HYDRAS = [
    ("hydra.=1", "hydra.="),
    ("hydra/launcher=null", "hydra/launcher=null"),
    ("hydra.searchpath=[nope://x]", "hydra.searchpath=[nope://x]"),
    ("experiment=[demo,1]", "experiment=[demo,1]"),
    ("~experiment", "~experiment; experiment=NAME"),
    ("experiment=../demo", "experiment=../demo"),
    ("experiment=demo experiment=table2", "twice; experiment=demo; experiment=table2"),
]
LACKING = [
    ("intervention=none,redo intervention.evry=7", "evry; did you mean every; strength"),
    ("intervention=none,redo intervention.snr.every=7", "snr.every; none; redo"),
    ("perturbation=none perturbation.cycle=1", "perturbation=none; cycle"),
    ("activation=relu,tanh activation.slope=1", "relu; tanh; slope; no other exists"),
    ("intervention=redo,[redo,snr] intervention.every=3", "the option:; intervention.snr.every"),
    ("hyperparams=default,best hyperparams.grid=fine", "default; best; grid"),
    ("intervention=none,redo intervention.every=0", "intervention.every; at least 1"),
]
BOTH = "intervention=[l2_init,redo]"
LISTS = [
    ("intervention=[]", "intervention=none"),
    ("intervention=[redo,none]", "intervention=none; cannot be combined"),
    ("intervention=[redo,redo]", "redo; more than once"),
    ("intervention=[redo,[l2]]", "list"),
    ("intervention=[redo,l2_int]", "l2_init?"),
    (f"{BOTH} intervention.strength=1", "intervention.l2_init.strength; intervention.redo.strength"),
    (f"{BOTH} intervention.speed=1", "speed; none of them"),
    (f"{BOTH} intervention.snr.every=1", "snr; l2_init and redo"),
    (f"{BOTH} intervention.redo.every=0", "intervention.redo; every is 0"),
    (f"{BOTH} intervention.redo.evry=1", "intervention=redo; 'evry'"),
    ("intervention=redo intervention.every=1 intervention.redo.every=2", "the same setting"),
    (f"{BOTH} hyperparams=best", "intervention.l2_init"),
    ("diagnostics=chep", "diagnostics=chep; cheap; dead_units"),
    ("diagnostics=[cheap,none]", "none; cannot be combined"),
    ("diagnostics=cheap diagnostics.colour=3", "diagnostics=cheap; colour; tau"),
    ("diagnostics=[cheap,dead_units] diagnostics.cheap.colour=3", "diagnostics=cheap; colour; tau"),
    ("diagnostics=cheap diagnostics.redo.every=2", "diagnostics.redo; dead_units"),
    ("diagnostics=cheap diagnostics.every=often", "diagnostics.every; often; task; epoch"),
    ("diagnostics=cheap diagnostics.every=1,2", "diagnostics.every"),
    ("diagnostics=cheap,dead_units", "diagnostics"),
]
LR = "optimizer.lr=tag(log,interval(1e-5,1e-2))"
SEARCHES = [
    ("hyperparams=search", "nothing to search"),
    ("hyperparams=search seed=interval(0,1)", "is not a list of values"),
    ("hyperparams=search benchmark.tasks=1,2", "the same benchmark"),
    (f"hyperparams=search,grid {LR}", "cannot be combined"),
    (f"hyperparams=search hyperparams.sampler=best {LR}", "must be tpe or random"),
    ("hyperparams=search optimizer.lr=interval(-1,1)", "optimizer.lr is -1.0; it must be above 0"),
    ("hyperparams=search network.width=interval(10,20)", "must be a whole number"),
    ("hyperparams=search activation.negative_slope=interval(0,1)", "negative_slope"),
    ("hyperparams=search optimizer.lr=0.1,0.01,0.001", "have 3 combinations; give hyperparams.trials=3"),
    (
        "hyperparams=search hyperparams.trials=13 optimizer.lr=0.1,0.01 network.width=int(interval(5,10))",
        "hyperparams.trials=12",
    ),
    (f"hyperparams=search rerun=true {LR}", "rerun=true"),
    (f"hyperparams=search plan_only=true {LR}", "plan_only=true"),
]
TRACKING = [
    ("tracking=wandb_online", "needs a W&B key, and none is configured: `wandb login`"),
    ("tracking=wandb", "tracking=wandb"),
    ("tracking=store,wandb_offline", "tracking changes no run's numbers, so it cannot be swept"),
    ("tracking.project=a/b", "tracking.project is 'a/b'"),
    ("tracking.live_runs=65", "tracking.live_runs is 65; it must be at most 64"),
    ("tracking.live=3", "tracking.live"),
]
FLAGS = [
    ("--resolve", "--cfg"),
    ("--package optimizer", "--cfg"),
    ("--cfg", "--cfg"),
    ("--cfg jobs", "jobs; job; hydra; all"),
    ("--info nothing", "nothing; plugins; searchpath"),
    ("--help --cfg job", "--help; --cfg"),
    ("--cfg job activation=relu,tanh", "activation=relu,tanh; --cfg"),
    ("--config-path /tmp", "--config-path; --config-dir"),
    ("--config-name mine", "--config-name; --config-dir"),
    ("--config-dir /no/such/folder", "/no/such/folder"),
    ("--config-dir / hydra.searchpath=[]", "--config-dir; hydra.searchpath"),
    ("--experimental-rerun config.pickle", "--experimental-rerun; rerun=true"),
    ("--shell-completion", "install=bash"),
    ("--shell-completion install=zsh", "install=bash"),
    ("--shell-completion query=bash", "install=bash"),
]
WITHOUT_EFFECT = [
    ("hydra.run.dir=/runs/x", "hydra.run.dir=/runs/x; store=FOLDER"),
    ("hydra.sweep.dir=/runs/x", "hydra.sweep.dir=/runs/x; store=FOLDER"),
    ("hydra.output_subdir=x", "hydra.output_subdir=x; store=FOLDER"),
    ("hydra.job.chdir=true", "hydra.job.chdir=true; hydra/launcher=packed"),
    ("hydra/job_logging=default", "hydra/job_logging=default; hydra/launcher=packed"),
    ("hydra/launcher=basic hydra.run.dir=/runs/x", "hydra.run.dir=/runs/x; store=FOLDER"),
    ("hydra.sweeper.params={}", "hydra.sweeper.params"),
    ("hydra/launcher=submitit_local hydra/launcher=packed", "twice; submitit_local; hydra/launcher=packed"),
    ("hydra.verbose=true hydra.verbose=false", "twice; hydra.verbose=true; hydra.verbose=false"),
    ("hydra.runtime.cwd=/tmp", "hydra.runtime.cwd=/tmp"),
]
SHELL = [
    # Unquoted, bash refuses glob(*) itself; other shells hand on what they make of it.
    (["activation=*"], "activation=*; 'activation=glob(*)'"),
    (["README.md", "conf"], "README.md; *"),
    (["activation=glob(README.md", "conf", "tests)"], "activation=glob(README.md; quote"),
    (["seed=range(0,", "3)"], "seed=range(0,; bracket"),
    (["activation=[relu,tanh]"], "activation=[relu,tanh]; activation=one,other"),
    (["seed=[0,1]"], "seed is [0, 1]; one,other"),
    (["seed=0", "seed=1"], "twice; seed=0; seed=1; seed=one,other"),
    (["seed={0,1}"], "seed={0,1}; seed=0,1"),
    (["seed=0,", "1"], "seed=0,; comma; seed=0,1"),
    (["activation", "=", "relu"], "activation; seed=0"),
    (["activation=glob(*) seed=0"], "activation=glob(*) seed=0; give each as a separate word"),
    (["seed="], "seed=; null"),
    (["seed=${SEED}"], "seed=${SEED}; shell"),
    (["seed=1\nseed=2"], "seed=1\\nseed=2"),
    (["ｓｔｏｒｅ=x"], "ｓｔｏｒｅ=x; store=x?"),
    (["store=ü,a"], "store=ü,a; \"store='ü,a'\""),
    (["seed=٣"], "seed is '٣'"),
    (["activation='relu"], "activation='relu; quote"),
    (["“activation=glob(*)”"], "“activation=glob(*)”; quotes"),
    (["–m", "seed=0"], "–m; --"),
]
WORDS = [*NAMES, *TYPES, *RANGES, *COUNTS, *HYDRAS, *IMPOSSIBLE, *LACKING, *LISTS, *SEARCHES, *TRACKING]
TABLE = [(words.split(), keys) for words, keys in [*WORDS, *FLAGS, *WITHOUT_EFFECT]] + SHELL


@pytest.mark.walk(30)
@pytest.mark.parametrize(("words", "keys"), TABLE, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_bad_input_is_answered_in_a_sentence(words, keys, tmp_path, monkeypatch, capsys):
    for variable in ("HYDRA_FULL_ERROR", "COMP_LINE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    for name in ("README.md", "a-file"):
        (tmp_path / name).touch()
    dry = [] if any(word.startswith("dry_run") for word in words) else ["dry_run=true"]
    assert run_command([*dry, *words]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1, err
    assert [key for key in keys.split("; ") if key not in err] == [], err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "a-file"]


def test_workers_that_share_too_little_memory_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(local, "memory_here", lambda workers: 2**30 // workers)
    words = ["network.width=3000", f"store={tmp_path}", "dry_run=true", "device=cpu"]
    assert run_command([*words, "launch.workers=1"]) == 0
    capsys.readouterr()
    assert run_command([*words, "launch.workers=8"]) == 1
    err = capsys.readouterr().err
    assert [key for key in ("128 MiB", "8 workers", "launch.workers") if key not in err] == []
