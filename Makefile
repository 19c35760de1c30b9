# Two commands are enough on a fresh machine: "make run" and "make test".
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The C library keeps a heap for each thread and gives none back: whoever starts and ends many nodes (the tests) would
# hold gigabytes.
export MALLOC_ARENA_MAX ?= 2
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCKS := $(wildcard requirements/*.txt)
# Every package by version and hash, what builds the few that come as source included; then this one.
locked = $(PIP) --require-hashes -r requirements/build.txt \
	&& $(PIP) --require-hashes --no-build-isolation -r requirements/$(1).txt \
	&& $(PIP) --no-deps --no-build-isolation -e .

.PHONY: setup run model test test-rest test-all check format lock bench bench-cache bench-hijack bench-large gate calibrate clean

setup: $(VENV)/.dev ## everything for development

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed (set PYTHON=…)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { \
	  rm -rf $(VENV); \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null && $(PYTHON) -m venv $(VENV); \
	  else echo "python3 -m venv does not work here; install it with: apt-get install python3-venv"; exit 1; fi; }

# Three packages come as source, one of them in C.
compiler = command -v cc >/dev/null || { \
    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
      apt-get update -qq && apt-get install -y -qq gcc libc6-dev python3-dev >/dev/null; \
    else echo "a C compiler is needed; install it with: apt-get install gcc libc6-dev python3-dev"; exit 1; fi; }

$(VENV)/.run: pyproject.toml $(LOCKS) | $(VENV)/bin/python
	@$(compiler)
	@echo "installing the node into $(VENV) …"
	@$(call locked,run)
	@touch $@

$(VENV)/.dev: pyproject.toml $(LOCKS) | $(VENV)/bin/python
	@$(compiler)
	@echo "installing the node and its tools into $(VENV) …"
	@$(call locked,dev)
	@touch $@ $(VENV)/.run

run: $(VENV)/.run ## start the node on its embedded defaults
	@exec $(BIN)/neuroswarm serve

model: $(VENV)/.run ## get a language model and what runs it; shown and confirmed first (ARGS="--name …")
	@exec $(BIN)/neuroswarm model $(ARGS)

# Tests keep their byte code, which is most of the time to load them, beside the packages and not in the tree.
test test-rest: export PYTHONDONTWRITEBYTECODE =
test test-rest: export PYTHONPYCACHEPREFIX = $(abspath $(VENV))/pycache
# One process more than cores, for some tests wait: at most four, each holds 0.6 GB.
WORKERS = $$($(BIN)/python -c 'import os; print(min(4, 1 + (os.cpu_count() or 1)))')

test: $(VENV)/.dev ## the tests that need no built engine; those left out are counted
	@$(BIN)/pytest -n $(WORKERS) -m 'not engine and not slow'

# Two at once of the slow ones; real engines take the machine for themselves. One failure does not hide another.
test-rest: $(VENV)/.dev ## the slow ones, those of real engines (skipped and counted without them), properties at length
	@rest=0; \
	$(BIN)/pytest -n 2 -m 'slow and not engine' || rest=$$?; \
	$(BIN)/pytest -n $(WORKERS) -m 'hypothesis and not engine and not slow' --hypothesis-profile=long || rest=$$?; \
	$(BIN)/pytest -m engine || rest=$$?; \
	exit $$rest

test-all: test test-rest ## everything

check: $(VENV)/.dev ## format, lint, types, import rules
	@$(BIN)/ruff format --check --quiet . || { echo "run: make format"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

format: $(VENV)/.dev ## put the code in its format
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

bench: $(VENV)/.dev ## the measured claims of README
	@$(BIN)/python -m bench

bench-cache: $(VENV)/.dev ## the cache's decision on labelled streams, beside others (ARGS="--data FOLDER --quick …")
	@$(BIN)/python -m bench.cache $(ARGS)

bench-hijack: $(VENV)/.dev ## attacks on the cache's decision, with the gate and without
	@$(BIN)/python -m bench.hijack $(ARGS)

bench-large: $(VENV)/.dev ## look-ups among 10 thousand to a million records, beside faiss
	@$(call locked,bench)
	@$(BIN)/python -m bench.large --million $(ARGS)

gate: $(VENV)/.dev ## train the cache's gate anew (ARGS="--data FOLDER")
	@$(call locked,bench)
	@$(BIN)/python -m bench.gatelab.train $(ARGS)

calibrate: $(VENV)/.dev ## fit what hangs on embedder and engines: relevance, confidence, router; with ARGS="--data FOLDER" gate too
	@$(BIN)/python -m bench.calibrate $(ARGS)

UV := $(VENV)/lock/bin/uv
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header
lock: $(VENV)/.run ## write the locks anew where pyproject.toml asks for more (ARGS=--upgrade: the newest of all)
	@$(PYTHON) -m venv $(VENV)/lock
	@$(VENV)/lock/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.9
	@$(COMPILE) $(ARGS) requirements/build.in -o requirements/build.txt
	@$(COMPILE) $(ARGS) pyproject.toml --extra dev --extra bench -o requirements/bench.txt
	@$(COMPILE) pyproject.toml --extra dev -c requirements/bench.txt -o requirements/dev.txt
	@$(COMPILE) pyproject.toml --extra mcp -c requirements/bench.txt -o requirements/run.txt
	@$(COMPILE) $(ARGS) requirements/clients.in -o requirements/clients.txt

clean: ## remove what make made (never data/ or governance_logs/)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
