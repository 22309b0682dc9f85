# Two commands on a fresh machine: `make reproduce` and `make test`. Both may be repeated at any time.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# What runs needs less than what tests: a fresh machine shall see its first results soon.
RUNS := .venv/.runs
STAMP := .venv/.installed

.PHONY: reproduce test test-fast coverage install bench clean

reproduce: $(RUNS)
	$(BIN)/karat reproduce --scale quick --out report

test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

test-fast: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m "not slow"

coverage: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m "not slow" --cov --cov-report=term --cov-report=html

install: $(STAMP)

$(RUNS): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("karat needs Python 3.11 or newer, this is %d.%d" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) torch
	$(PIP) --editable '.[images]'
	@touch $@

$(STAMP): $(RUNS)
	$(PIP) --editable '.[images,models,check,dist,parquet,dev]'
	@touch $@

bench: $(STAMP)
	for name in attacks flips adversarial_training symmetric in_law wide sweeps certificates certified_cells soundness; do $(BIN)/karat bench $$name || exit 1; done

clean:
	rm -rf .venv report htmlcov .coverage .pytest_cache .mypy_cache .ruff_cache
