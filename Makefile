# LossLake's developer commands. `make help` lists them; each one sets up what it needs.

PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
LAKE ?= lake
# Options for pytest in `make test` and `make fuzz`, e.g. PYTEST="-x tests/schema".
PYTEST ?=
# Options for `make lock`, e.g. LOCK=--upgrade or LOCK="--upgrade-package duckdb".
LOCK ?=

VENV := .venv
BUNDLED := studies/data/bundled.tar.bz2
PACKAGES := losslake schema ingest service studies bench tests
UV := uv==0.13.8
PIP := -m pip --disable-pip-version-check -qq

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## List these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "  Settings: PYTHON=$(PYTHON) HOST=$(HOST) PORT=$(PORT) LAKE=$(LAKE)"

.PHONY: setup
setup: $(VENV)/.installed $(VENV)-httpfs/.installed ## Make .venv from the lock file, with losslake installed in place
	@:

$(VENV)/.locked: requirements-dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "LossLake needs Python 3.11 or newer, and $(PYTHON) isn't: name another one, as in make setup PYTHON=python3.12" >&2; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@echo "Installing the $$(grep -c '==' $<) packages of $<"
	@$(VENV)/bin/python $(PIP) install --require-hashes -r $<
	@touch $@

$(VENV)/.installed: $(VENV)/.locked pyproject.toml
	@echo "Installing losslake in place"
	@$(VENV)/bin/python $(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# A client as users have it: a DuckDB that reads over HTTP, which needs an older version than the service's own.
$(VENV)-httpfs/.installed: tests/clients/httpfs.lock $(VENV)/.locked
	@echo "Making $(VENV)-httpfs, a DuckDB client for the tests"
	@$(PYTHON) -m venv $(VENV)-httpfs
	@$(VENV)-httpfs/bin/python $(PIP) install --require-hashes -r $<
	@touch $@

.PHONY: run
run: setup ## Serve the bundled studies at http://HOST:PORT, from the lake in LAKE
	@$(VENV)/bin/losslake ingest $(BUNDLED) --lake $(LAKE)
	@exec $(VENV)/bin/losslake serve --lake $(LAKE) --host $(HOST) --port $(PORT)

# Python may keep what it compiled, whatever the shell says: a hundred tests start processes of their own.
.PHONY: test
test: setup ## Run the tests
	@PYTHONDONTWRITEBYTECODE= $(VENV)/bin/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder $(PYTEST)

.PHONY: lint
lint: setup ## Check style, format, layers and types
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/lint-imports --no-logo --no-cache
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy --strict $(PACKAGES)

.PHONY: pictures
pictures: setup ## Draw the pictures of the pages anew, which tests compare and documentation shows
	@UPDATE_PICTURES=1 $(VENV)/bin/python -m pytest -q tests/browser/test_pages.py -k looks_as_it_did

.PHONY: slow
slow: setup ## Run the tests that take long: Spark beside DuckDB, and replicas that answer while all fails
	@PYTHONDONTWRITEBYTECODE= $(VENV)/bin/python -m pytest -m "slow and not fuzz" $(PYTEST)

.PHONY: fuzz
fuzz: setup ## Look for new failing inputs, for minutes
	@$(VENV)/bin/python -m pytest -m fuzz $(PYTEST)

.PHONY: topology
topology: setup ## Run replicas, nginx, PostgreSQL and a store for minutes, under load, while all of them fail
	@$(VENV)/bin/python -m pytest -m long --capture=no tests/topology/test_topology.py $(PYTEST)

.PHONY: image
image: setup ## Run the steps that build the container image, without Docker, in a folder of their own
	@$(VENV)/bin/python -m pytest -m long tests/topology/test_image.py $(PYTEST)

.PHONY: bench
bench: setup ## Measure ingest, scaling, analyses, the service and the log formats
	@$(VENV)/bin/python -m bench.ingest
	@$(VENV)/bin/python -m bench.scaling
	@$(VENV)/bin/python -m bench.analysis
	@$(VENV)/bin/python -m bench.service
	@$(VENV)/bin/python -m bench.pages
	@$(VENV)/bin/python -m bench.formats
	@$(VENV)/bin/python -m bench.tensorboard
	@$(VENV)/bin/python -m bench.peers
	@$(VENV)/bin/python -m bench.full --scales 0.01 0.1
	@$(VENV)/bin/python -m bench.many_studies --studies 1000
	@$(VENV)/bin/python -m bench.history --releases 20

# The tool that resolves has an environment of its own: a broken lock file can still be made again.
# What only developers need is resolved first, so that both files agree on every version.
.PHONY: lock
lock: ## Resolve the dependencies of pyproject.toml into both lock files
	@test -d $(VENV)-lock || $(PYTHON) -m venv $(VENV)-lock
	@$(VENV)-lock/bin/python $(PIP) install $(UV)
	@$(call resolve,--extra dev $(LOCK)) --output-file requirements-dev.lock
	@$(call resolve,--constraints requirements-dev.lock) --output-file requirements.lock
	@echo "Locked $$(grep -c '==' requirements-dev.lock) packages, $$(grep -c '==' requirements.lock) of them to run losslake"

resolve = $(VENV)-lock/bin/uv pip compile pyproject.toml --quiet --group build $(1) --universal --python-version 3.11 \
  --fork-strategy fewest --generate-hashes --system-certs --no-emit-index-url --no-emit-find-links \
  --no-annotate --custom-compile-command "make lock"

.PHONY: vendor
vendor: setup ## Make the scripts of others that pages load anew
	@$(VENV)/bin/python -m losslake_service.web.static_files
	@cd service/losslake_service/web/vendor/codemirror && npm ci --silent --no-audit --no-fund && npm run --silent build

.PHONY: clean
clean: ## Remove the environments, caches and builds; lakes stay
	@rm -rf $(VENV) $(VENV)-lock $(VENV)-httpfs .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	@find $(wildcard $(PACKAGES)) -name __pycache__ -type d -prune -exec rm -rf {} +
