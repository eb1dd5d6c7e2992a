# LossLake's developer commands. `make help` lists them; each one sets up what it needs.

PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
LAKE ?= lake
# Options for pytest in `make test` and `make fuzz`, e.g. PYTEST="-x tests/schema".
PYTEST ?=
# Options for `make lock`, e.g. LOCK=--upgrade or LOCK="--upgrade-package duckdb".
LOCK ?=
# Parts for `make bench`; all by default. `.venv/bin/python -m bench --help` lists them.
BENCH ?=

VENV := .venv
# The folder of all logs from which the bundles of the published collections are built.
LOGS ?= ../shared/corpora
COLLECTIONS := $(sort $(dir $(shell grep -L '^bundled = false' published/*/SOURCE.toml)))
# What most look for comes first.
BUNDLES := $(wildcard published/mlperf-training/*.tar) studies/data/stdlib_bytes.tar.bz2 $(filter-out published/mlperf-training/%,$(sort $(wildcard published/*/*.tar)))
BUNDLED := studies/data/bundled.tar.bz2
PACKAGES := losslake schema ingest service contributions cli published studies bench tests
PIP := -m pip --disable-pip-version-check -qq
# uv installs in a tenth of the time: what its cache has (the hashes say that it is right) without asking an index, which
# would have it build PySpark anew. Where it can't be had, or finds no package, pip may: it knows this machine's settings.
# Both compile what they install: otherwise each process of the first tests compiles what it imports.
by_uv = $(VENV)/bin/uv pip install --quiet --compile-bytecode --system-certs --python $(1) $(2)
install = { test -x $(VENV)/bin/uv && { $(by_uv) --offline 2>/dev/null || $(by_uv); }; } || \
  { echo "pip installs, as uv could not"; $(VENV)/bin/python $(PIP) --python $(1) install $(2); }

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "  Settings: PYTHON=$(PYTHON) HOST=$(HOST) PORT=$(PORT) LAKE=$(LAKE)"

.PHONY: setup
setup: $(VENV)/.developing $(VENV)-httpfs/.installed ## Make .venv from the lock files, with losslake installed in place
	@:

$(VENV)/.made: requirements-uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "LossLake needs Python 3.11 or newer, and $(PYTHON) isn't: name another one, as in make setup PYTHON=python3.12" >&2; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python $(PIP) install --require-hashes --only-binary :all: -r $< || echo "uv can't be had"
	@touch $@

$(VENV)/.running: requirements.lock $(VENV)/.made
	@echo "Installing the $$(grep -c '==' $<) packages of $<"
	@$(call install,$(VENV)/bin/python,--require-hashes -r $<)
	@touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.running
	@echo "Installing losslake in place"
	@$(call install,$(VENV)/bin/python,--no-deps --no-build-isolation --editable .)
	@touch $@

$(VENV)/.developing: requirements-dev.lock $(VENV)/.installed
	@echo "Installing the $$(grep -c '==' $<) packages of $<"
	@$(call install,$(VENV)/bin/python,--require-hashes -r $<)
	@touch $@

# A client as users have it: a DuckDB that reads over HTTP, which needs an older version than the service's own.
$(VENV)-httpfs/.installed: tests/clients/httpfs.lock $(VENV)/.made
	@echo "Making $(VENV)-httpfs, a DuckDB client for the tests"
	@$(PYTHON) -m venv --without-pip $(VENV)-httpfs
	@$(call install,$(VENV)-httpfs/bin/python,--require-hashes -r $<)
	@touch $@

# Trainers as users have them, for the tests of their callbacks: gigabytes, so only `make trainers` installs them.
TRAINERS_LOCK := tests/losslake/record/trainers/trainers.lock
$(VENV)-trainers/.installed: $(TRAINERS_LOCK) pyproject.toml $(VENV)/.made
	@echo "Making $(VENV)-trainers: the $$(grep -c '==' $<) packages of $<"
	@$(PYTHON) -m venv --without-pip $(VENV)-trainers
	@$(call install,$(VENV)-trainers/bin/python,--require-hashes -r $<)
	@$(call install,$(VENV)-trainers/bin/python,--no-deps --no-build-isolation --editable .)
	@touch $@

.PHONY: run
run: $(VENV)/.installed ## Serve the published collections at http://HOST:PORT, from the lake in LAKE
	@$(VENV)/bin/losslake ingest $(BUNDLED) --each --lake $(LAKE)
	@$(VENV)/bin/losslake ingest $(BUNDLES) --each --lake $(LAKE) & exec $(VENV)/bin/losslake serve --lake $(LAKE) --host $(HOST) --port $(PORT)

# As many as cores: with one and two more, the tests took 532 and 609 s of processor time instead of 466.
TESTERS := $(shell nproc 2>/dev/null || echo 2)

# Which tests a process gets, and in which order.
SHARES := --dist loadfile --no-loadscope-reorder
# What libraries keep until their process ends is gone when the session looks for what tests left behind.
IN_ONE_PROCESS := --numprocesses 1 $(SHARES)

# Python may keep what it compiled, whatever the shell says: a hundred tests start processes of their own.
.PHONY: test
test: setup ## Run the tests
	@PYTHONDONTWRITEBYTECODE= $(VENV)/bin/python -m pytest --numprocesses $(TESTERS) $(SHARES) $(PYTEST)

# pytest remembers the tests that failed last, over all processes.
FAILED := .pytest_cache/v/cache/lastfailed

.PHONY: failed
failed: ## Print the tests that failed last
	@test ! -f $(FAILED) || $(PYTHON) -c 'import json, sys; print(*json.load(open(sys.argv[1])))' $(FAILED)

.PHONY: again
again: setup ## Run the tests that failed last, in one process
	@PYTHONDONTWRITEBYTECODE= $(VENV)/bin/python -m pytest --last-failed --last-failed-no-failures none $(IN_ONE_PROCESS) $(PYTEST)

.PHONY: lint
lint: setup ## Check style, format, layers and types
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/lint-imports --no-logo --no-cache
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy --strict --num-workers auto $(PACKAGES)

.PHONY: collections
collections: setup ## Build the bundles of published/ again, from the logs below LOGS
	@$(VENV)/bin/losslake bundle $(COLLECTIONS) --logs $(LOGS)

.PHONY: collections-check
collections-check: setup ## Say which studies of published/ the logs below LOGS would add, change or lose
	@$(VENV)/bin/losslake bundle $(COLLECTIONS) --logs $(LOGS) --check

.PHONY: reports
reports: setup ## Write docs/findings.md and docs/bundled-studies.md again, with their figures
	@$(VENV)/bin/python -m studies.reports

.PHONY: pictures
pictures: setup ## Redraw the reference pictures of the pages, for tests and documentation
	@UPDATE_PICTURES=1 $(VENV)/bin/python -m pytest -q tests/browser/test_pages.py -m slow -k test_page_matches_its_picture

# Whole corpora take minutes, and more on a busy machine; only a hang takes half an hour.
HALF_AN_HOUR := --timeout 1800 -o faulthandler_timeout=1830

# Properties are tried with a few examples in `make test`.
SLOW := (slow or hypothesis) and not fuzz and not long and not attack

.PHONY: slow
slow: setup ## Run the slow tests: Spark, fault campaigns, every case of the cross products, more examples
	@PYTHONDONTWRITEBYTECODE= $(VENV)/bin/python -m pytest -m "$(SLOW)" --hypothesis-profile slow $(IN_ONE_PROCESS) $(HALF_AN_HOUR) $(PYTEST)

.PHONY: trainers
trainers: setup $(VENV)-trainers/.installed ## Test the recorder in Hugging Face's Trainer, Lightning and Keras
	@$(VENV)-trainers/bin/python -m pytest -m slow --numprocesses 0 $(HALF_AN_HOUR) tests/losslake/record/trainers $(PYTEST)

# For `make mutants`: how many lines, drawn by which seed; at how many at once tests look, and for how many seconds of
# processor time; which of the lines only, as in ONLY="cli/losslake_cli/table.py:77", after a test was written for them.
N ?= 300
SEED ?= 0
JOBS ?= $(TESTERS)
SECONDS ?= 15
ONLY ?=

.PHONY: mutants
mutants: setup ## Change N random lines by SEED, one at a time, and list the changes that no test notices
	@$(VENV)/bin/python tests/mutants.py $(N) $(SEED) $(JOBS) $(SECONDS) . $(ONLY)

# These take as long as they take.
UNLIMITED := --timeout 0 -o faulthandler_timeout=0

.PHONY: fuzz
fuzz: setup ## Search for new failing inputs, for minutes
	@$(VENV)/bin/python -m pytest -m fuzz --hypothesis-profile fuzz $(UNLIMITED) $(PYTEST)

.PHONY: attack
attack: setup ## Attack services on this machine, and print what their other clients see, for minutes
	@$(VENV)/bin/python -m pytest -q -m attack --capture=no $(UNLIMITED) tests/attacks $(PYTEST)

.PHONY: topology
topology: setup ## Test replicas, nginx, PostgreSQL and a store under load and failures, for minutes
	@$(VENV)/bin/python -m pytest -m long --capture=no $(UNLIMITED) tests/topology/test_topology.py $(PYTEST)

.PHONY: image
image: setup ## Run the build steps of the container image in a folder, without Docker
	@$(VENV)/bin/python -m pytest -m long $(UNLIMITED) tests/topology/test_image.py $(PYTEST)

.PHONY: bench
bench: setup ## Run the benchmarks, about 23 minutes; those of BENCH, as in BENCH="ingest service"
	@$(VENV)/bin/python -m bench $(BENCH)

# The resolver has a separate environment, so that a broken lock file can be rebuilt.
# Dependencies for development are resolved first, so that all files agree on every version.
.PHONY: lock
lock: ## Resolve the dependencies of pyproject.toml into the lock files
	@test -d $(VENV)-lock || $(PYTHON) -m venv $(VENV)-lock
	@$(VENV)-lock/bin/python $(PIP) install --require-hashes -r requirements-uv.lock
	@$(call resolve,--group installer $(LOCK)) --output-file requirements-uv.lock
	@$(call resolve,pyproject.toml --group build --extra dev $(LOCK)) --output-file requirements-dev.lock
	@$(call resolve,pyproject.toml --group build --extra all --constraints requirements-dev.lock) --output-file requirements.lock
	@$(call resolve,pyproject.toml --group build --extra dev --extra trainers $(LOCK) --constraints requirements-dev.lock) --output-file $(TRAINERS_LOCK)
	@$(call has_wheels,linux --extra all) && $(call has_wheels,aarch64-unknown-linux-gnu --extra all)
	@$(call has_wheels,macos --extra all) && $(call has_wheels,x86_64-apple-darwin --extra all) && $(call has_wheels,windows)
	@echo "Locked $$(grep -c '==' requirements-dev.lock) packages, $$(grep -c '==' requirements.lock) of them to run losslake"

compile = $(VENV)-lock/bin/uv pip compile --quiet --python-version 3.11 --system-certs
resolve = $(compile) $(1) --universal --fork-strategy fewest --generate-hashes --no-emit-index-url --no-emit-find-links \
  --no-annotate --custom-compile-command "make lock"
# Nothing is built where LossLake is installed: the service on Linux and macOS, the client on Windows as well.
has_wheels = $(compile) pyproject.toml --constraints requirements-dev.lock --only-binary :all: --output-file /dev/null --python-platform $(1)

.PHONY: vendor
vendor: setup ## Rebuild the third-party scripts and fonts of the pages
	@$(VENV)/bin/python -m losslake_service.web.static_files
	@sh service/losslake_service/web/vendor/fonts/make.sh
	@for each in codemirror d3; do \
		(cd service/losslake_service/web/vendor/$$each && npm ci --silent --no-audit --no-fund && npm run --silent build) || exit 1; done

.PHONY: clean
clean: ## Remove environments, caches and builds, but not lakes
	@rm -rf $(VENV) $(VENV)-lock $(VENV)-httpfs $(VENV)-trainers .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	@find $(wildcard $(PACKAGES)) -name __pycache__ -type d -prune -exec rm -rf {} +
