# Each target sets up what it needs. `make train` and `make test` are all a newcomer has to know.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: train test test-all lint format bench clean

train: $(READY)  ## train an agent by self-play and rate it, about three minutes on two cores
	$(BIN)/sparring train hex-quick

test: lint  ## the tests, without the slow ones
	$(BIN)/pytest -n 2 --dist loadfile

test-all: lint  ## every test
	$(BIN)/pytest -m "slow or not slow" --timeout 7200

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## every benchmark, in its quick form
	@for script in benchmarks/*.py; do echo "== $$script" >&2; $(BIN)/python $$script --quick || exit 1; done

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Sparring needs Python 3.11 or newer; set PYTHON=..." >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "python3 has no venv module: apt-get install python3-venv" >&2; exit 2; }
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@
