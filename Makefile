# Each target sets up what it needs. `make train` and `make test` are all a newcomer has to know.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --quiet --constraint constraints.txt

GAME_NAMES := $(shell sed -n '/entry-points."sparring.games"/,/^$$/s/ = .*//p' pyproject.toml)

.PHONY: help train setup game-names test test-all test-ray test-slurm torture lint format bench bench-quick clean

train: $(VENV)/.run  ## train an agent by self-play and rate it, about three minutes on two cores
	$(BIN)/sparring train hex-quick
	@echo 'To type `sparring`: source $(BIN)/activate'

help:  ## what there is to make
	@sed -n 's/^\([a-z-]*\):.*  ## /\1: /p' $(MAKEFILE_LIST)

setup: game-names $(VENV)/.run  ## what games need besides: make setup GAMES="pokemon rocket"
	@for game in $(GAMES); do $(PIP) --editable ".[$$game]" && $(BIN)/sparring setup $$game || exit 1; done

game-names:
	@test -n "$(GAMES)" || { echo 'say which games: make setup GAMES="pokemon rocket"' >&2; exit 2; }
	@for game in $(GAMES); do case " $(GAME_NAMES) " in *" $$game "*) ;; \
		*) echo "GAMES: unknown game $$game; allowed: $(GAME_NAMES)" >&2; exit 2;; esac; done

test: lint  ## the tests, without the slow ones; four processes, as many tests wait for others
	$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder

test-all: lint  ## every test
	$(BIN)/pytest -m "slow or not slow" --timeout 7200

test-slurm: $(VENV)/.dev  ## jobs on a real SLURM of two nodes on this machine, started and stopped by the tests
	@( PATH="$$PATH:/usr/sbin"; for program in sbatch slurmctld slurmd munged; do command -v $$program > /dev/null || exit 1; done ) \
		|| { [ "$$(id -u)" = 0 ] && apt-get install --quiet --yes --no-install-recommends slurm-wlm munge; } \
		|| echo "SLURM is not here, and the tests will be skipped; as root: apt-get install slurm-wlm munge" >&2
	$(BIN)/pytest -m slurm -rs tests/launch

test-ray: $(VENV)/.dev  ## the tests of --cluster: installs Ray, and starts clusters of two nodes on this machine
	$(PIP) --editable '.[ray]'
	$(BIN)/pytest -m "slow or not slow" tests/rollout/test_fleet.py tests/rollout/test_handout.py tests/training/test_cluster.py \
		tests/league/test_cluster.py tests/league/test_cluster_bouts.py tests/data/test_importing_cluster.py

torture: $(VENV)/.dev  ## every attack at full size: hours on two cores
	@for attack in server ladder crash_points damage two_writers group_kills replays; do echo "== $$attack" >&2; $(BIN)/python -m tests.torture.$$attack || exit 1; done

lint: $(VENV)/.dev  ## style, types and who imports whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev  ## let ruff fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev  ## every benchmark, in its quick form
	$(BIN)/sparring bench suite --quick $(patsubst benchmarks/%.py,%,$(filter-out benchmarks/measure.py,$(wildcard benchmarks/*.py)))

bench-quick: $(VENV)/.dev  ## a few benchmarks, in their quick form: minutes
	$(BIN)/sparring bench suite --quick

clean:  ## remove the virtual environment and every cache
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find src tests -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Sparring needs Python 3.11 or newer; set PYTHON=..." >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "python3 has no venv module: apt-get install python3-venv" >&2; exit 2; }
	$(BIN)/pip install --quiet --upgrade pip
	@touch $@

$(VENV)/.run: $(VENV)/.made pyproject.toml constraints.txt
	@echo "installing the packages into $(VENV): about 1.5 GB, a few minutes"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml constraints.txt
	@echo "installing the packages into $(VENV): about 2.5 GB, a few minutes"
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.run
