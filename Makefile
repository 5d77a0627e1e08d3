# Everything that a person or CI runs here. `make` lists it.
# Needs python3 ≥ 3.11 (or PYTHON=…) with its venv module, and access to a Python package index; `make test` also needs
# Go and access to a Go module proxy.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
# A stamp's name holds a checksum of what was asked for and of this folder's path (a moved tree needs a new
# install), so a virtual environment is brought up to date exactly when one of them changes.
KEY := $(shell { pwd; cat pyproject.toml requirements/*.txt; } | cksum | cut -d' ' -f1)
RUN_STAMP := $(VENV)/.run-$(KEY)
DEV_STAMP := $(VENV)/.dev-$(KEY)
DOCS_STAMP := $(VENV)/.docs-$(KEY)

.DEFAULT_GOAL := help
.PHONY: help demo venv cluster test test-unit test-long lint format bench bench-live mutants docs lock clean

help: ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' Makefile

demo: $(RUN_STAMP) ## Place the example workloads on an embedded pool of 1,280 x 8 H100; ends by itself
	@$(VENV)/bin/gangpool demo

venv: $(DEV_STAMP) ## Make .venv with the exact versions of requirements/dev.txt

cluster: $(DEV_STAMP) ## Build the Kubernetes of the tests into a cache outside the checkout, once (needs Go, minutes)
	@$(PY) -m tests.cluster.build >/dev/null

test: $(DEV_STAMP) cluster ## Unit, scenario and property tests, and those on a real control plane; an unlisted skip fails
	$(PY) -m pytest $(ARGS)

test-unit: $(DEV_STAMP) ## The fastest selection: unit tests only (no Go needed), stop at the first failure
	$(PY) -m pytest -x -m "not cluster" --ignore=tests/scenarios --ignore=tests/histories $(ARGS)

test-long: $(DEV_STAMP) cluster ## All histories, long property runs and mutants; before an issue is called done
	GANGPOOL_LONG=1 $(PY) -m pytest $(ARGS)
	$(PY) -m scripts.mutants

lint: $(DEV_STAMP) ## ruff, mypy --strict, import contracts, file lengths, drift of generated pages
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports
	$(PY) -m scripts.lengths
	$(PY) -m scripts.reference --check
	$(PY) -m scripts.gen_cli_docs --check

format: $(DEV_STAMP) ## Let ruff rewrite what it can
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

bench: $(DEV_STAMP) ## Measure, check each result, compare with bench/ranges.toml
	$(PY) -m bench $(ARGS)

bench-live: $(DEV_STAMP) cluster ## Measure the live scheduler beside kube-scheduler on a real API server (10 min)
	$(PY) -m bench.live $(ARGS)

mutants: $(DEV_STAMP) ## 200 mutations of core/; at least 90 % must be caught, each survivor explained
	$(PY) -m scripts.mutants $(ARGS)

docs: $(DOCS_STAMP) ## Build the documentation; warnings are errors
	$(PY) -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

lock: ## Show what .venv holds, to compare with requirements/
	@$(PY) -m pip freeze --exclude-editable

clean: ## Remove what the targets above made
	rm -rf $(VENV) docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .cache

$(PY):
	@command -v $(PYTHON) >/dev/null || { echo "gangpool needs Python 3.11 or newer and finds no $(PYTHON): install it, or run make PYTHON=/path/to/python3." >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gangpool needs Python 3.11 or newer and $(PYTHON) is %d.%d: run make PYTHON=/path/to/python3.11." % sys.version_info[:2])'
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) cannot make a virtual environment: install its venv module (Debian: python3-venv)." >&2; exit 2; }

# --no-build-isolation: the build backend is pinned too, and is not fetched a second time.
define install
@echo "installing $(1)"
@$(PY) -m pip install -q --disable-pip-version-check $(2)
@$(PY) -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
@rm -f $(VENV)/.$(3)-*; touch $@
endef

$(RUN_STAMP): | $(PY)
	$(call install,requirements/run.txt,-r requirements/run.txt -r requirements/build.txt,run)

$(DEV_STAMP): | $(PY)
	$(call install,requirements/dev.txt,-r requirements/dev.txt,dev)
	@rm -f $(VENV)/.run-*; touch $(RUN_STAMP)

$(DOCS_STAMP): | $(PY)
	$(call install,requirements/docs.txt,-r requirements/docs.txt,docs)
