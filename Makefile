# Everyday targets; each sets up the virtual environment first if it has to. `make` alone lists them.

PYTHON ?= python3
STORE ?= store
CAMPAIGN_DEVICE := $(or $(DEVICE),cuda)# before the other commands' default
DEVICE ?= cpu
READY := .venv/.ready
SLURMS := 3# on a machine of two cores: most of those tests wait for Slurm
SHARE ?= $(shell expr $$(date +%s) / 86400 % 10 + 1)
PYTEST := .venv/bin/pytest -n auto --dist worksteal

# Where the shell says that Python is to keep no compiled modules, each process would compile torch's for seconds.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-share test-slurm test-gpu chaos bench bench-rliable campaign campaign-data tables measured avx512 slurm-up slurm-down docs lint

help: ## List the targets
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## Make the virtual environment (.venv) with everything in it

# Without --no-compile pip would compile 19,000 modules, half of the CPU time; Python compiles those that are imported.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "plasticity_lab needs Python 3.11 or newer; say which with PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY) ## Train every activation on embedded data, 3 seeds each, and show the table and a report (minutes)
	.venv/bin/python -m plasticity_lab.main experiment=demo store=$(STORE)
	.venv/bin/python -m analysis table --store $(STORE)
	.venv/bin/python -m analysis report --store $(STORE)
	@echo
	@echo "The records are in $(STORE)/runs, the table's files in $(STORE)/tables. Open $(STORE)/report.html in a browser:"
	@echo "its first figure shows which activations still learn their last tasks as well as their first. To try next:"
	@echo "  .venv/bin/python -m plasticity_lab.main activation=leaky_relu activation.negative_slope=0.3 dry_run=true"
	@echo "  .venv/bin/python -m plasticity_lab.main -m 'activation=glob(*relu*)' benchmark=random_label_digits schedule=demo seed=0,1,2"
	@echo "  .venv/bin/python -m plasticity_lab.main --help"

test: $(READY) ## Run the tests; SLOW=1 runs the slow ones too, except those that need Slurm
	$(PYTEST) -m 'not cuda and not $(if $(SLOW),slurm,slow)'

# Tests of torch.compile take minutes each, and mode=auto takes our kernels on CPUs: only SLOW=1 runs them, and of the
# walks among them a few drawn cases (`only` in tests/helpers/walks.py). One preset of figure 16 alone takes over ten.
test-share: $(READY) ## Run a tenth of the slow tests, each day another; SHARE=1 to 10 names one; MINUTES=10 begins none later
	@echo "Share $(SHARE) of 10 of the slow tests; make test-share SHARE=$(SHARE) runs it again."
	$(if $(MINUTES),PLASTICITY_MINUTES=$(MINUTES)) $(PYTEST) -m '(slow or drawn) and not slurm and not cuda' -k 'not compiled and not figure16_games' --splits 10 --group $(SHARE) --splitting-algorithm least_duration

test-slurm: $(READY) ## Run the tests that need Slurm, on Slurms of their own (as root, in a container)
	@COPIES=$(SLURMS) launch/cluster/once.sh .venv/bin/pytest -n $(SLURMS) --dist worksteal -m slurm --durations=0 --durations-min=5 || \
		{ [ $$? = 77 ] && echo "The tests that need Slurm are skipped."; }

test-gpu: $(READY) ## Run the tests that need a GPU (minutes); without one they are skipped, and say so
	OMP_NUM_THREADS=1 TORCHINDUCTOR_COMPILE_THREADS=1 $(PYTEST) -p no:benchmark --maxprocesses 16 -m cuda tests/cuda

chaos: $(READY) ## Disturb a sweep on a Slurm of its own for MINUTES=60, and compare it with an undisturbed one
	launch/cluster/once.sh .venv/bin/python -m tests.launch.launchers.slurm.chaos --minutes $(or $(MINUTES),60) --out $(or $(OUT),chaos_results)

bench: $(READY) ## Measure run-steps per second, beside a usual script and JAX; QUICK=1 only tries it; DEVICE=cuda (minutes)
	.venv/bin/python -m launch.bench $(if $(QUICK),--quick) --device $(DEVICE) --out $(or $(OUT),bench_results)
ifeq ($(DEVICE),cpu)
	.venv/bin/python -m launch.bench.diagnostics $(if $(QUICK),--situations permuted_mnist --width 1 --epochs 1) --out $(or $(OUT),bench_results)
	.venv/bin/python -m launch.bench.atari $(if $(QUICK),--games pong --steps 50 --repeats 1) --out $(or $(OUT),bench_results)
endif

bench-rliable: build/rliable/.ready ## Measure our bootstrap beside rliable's, in an environment of its own (10 minutes)
	build/rliable/bin/python -m launch.bench.rliable_peer --out $(or $(OUT),bench_results)

# arch, on which rliable stands, does not import beside pandas 3.
build/rliable/.ready:
	$(PYTHON) -m venv build/rliable
	build/rliable/bin/pip install --quiet --disable-pip-version-check 'rliable==1.2.0' 'pandas<3'
	@touch $@

campaign: $(READY) ## On a GPU that is there for MINUTES=14: measurements and studies in order, go on next time; DRY=1, DEVICE=cpu
	.venv/bin/python -m launch.campaign --minutes $(or $(MINUTES),14) --device $(CAMPAIGN_DEVICE) --folder $(or $(OUT),campaign) $(if $(DRY),--dry-run)

campaign-data: $(READY) ## MNIST and the CIFAR-10 of PLASTICITY_DATA as one file, for a machine without a network
	.venv/bin/python -m launch.campaign --pack-images $(PLASTICITY_DATA) --folder $(or $(OUT),campaign)

tables: $(READY) ## Write every table that STORE can feed (default ./store), and show the first
	.venv/bin/python -m analysis table all --store $(STORE)

measured: $(READY) ## Write the tables and figures of analysis/measured anew from their data, after a change of words
	.venv/bin/python -m tests.helpers.measured

avx512: build/avx512.so ## Build what gives MKL its AVX-512 on AMD CPUs: LD_PRELOAD=$PWD/build/avx512.so before a command
	@echo "Now put LD_PRELOAD=$(CURDIR)/build/avx512.so before a command; its runs count as of another kind of device."

build/avx512.so: launch/avx512.c
	@mkdir -p build
	$(CC) -shared -fPIC -O1 -o $@ $<

slurm-up: ## Start a Slurm on this machine to try sweeps on (as root, in a container); LAB_NODES=4 and others set it up
	@launch/cluster/up.sh

slurm-down: ## Stop it and its jobs; WIPE=1 removes its folder too
	@launch/cluster/down.sh

docs: $(READY) ## Build the manual as a site in docs/site, and check its links (seconds); open docs/site/index.html
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --config-file docs/mkdocs.yml

# Type errors that are mended leave .basedpyright/baseline.json by themselves; `.venv/bin/basedpyright --writebaseline`
# writes it anew, where files have moved.
lint: $(READY) ## Check style, formatting, import contracts, types and sentences (half a minute)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/lint-imports
	.venv/bin/basedpyright
	.venv/bin/python -m tests.prose
