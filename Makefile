# jupysched: every command of a developer, and of CI. `make help` lists them.
#
# A fresh machine needs python3 (3.11 or later, with venv), node 20, npm, git and make. Everything else is installed into .venv
# and labextension/node_modules, the first time something needs it and whenever pyproject.toml or package-lock.json changed. What is
# said meanwhile goes to stderr: stdout belongs to the command that was asked for (`make bench > figures.json`).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.ONESHELL:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
# Relative: the clone may lie in a folder with a space in its name.
BIN := $(VENV)/bin
# torch is installed by plain pip: it honours the wheels that a machine's pip is configured for (a CPU build, where there is one).
TORCH := torch==2.13.0
JOBS ?= 2
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup
LAB_SOURCES := $(shell find labextension/src labextension/style labextension/schema -type f 2>/dev/null) \
  $(wildcard labextension/package.json labextension/tsconfig.json)
DOCUMENTS := $(shell grep -l '\[\[\[cog' README.md jupysched/core/README.md docs/*.md 2>/dev/null)
SHARE := $(VENV)/share/jupyter/labextensions/jupysched

export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# --- installing ------------------------------------------------------------------------------------------------------

.PHONY: install
install: $(VENV)/.installed jupysched/labextension/.built ## everything a developer needs, into .venv

$(VENV)/.python:
	@command -v $(PYTHON) >/dev/null || { echo "jupysched needs Python 3.11 or later; '$(PYTHON)' was not found." >&2; exit 1; }
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "jupysched needs Python 3.11 or later; $$($(PYTHON) --version) was found. Name another one: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || .ci/packages python3-venv
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv || echo "uv could not be installed; going on with pip, which is slower." >&2
	touch $@

$(VENV)/.torch: $(VENV)/.python
	@echo "installing $(TORCH) ..." >&2
	$(BIN)/python -m pip install --quiet '$(TORCH)'
	touch $@

labextension/node_modules/.package-lock.json: labextension/package-lock.json labextension/package.json
	@command -v npm >/dev/null || { echo "The JupyterLab extension is built with Node 20 or later and npm; npm was not found." >&2; exit 1; }
	cd labextension && npm ci --no-audit --no-fund >&2
	touch node_modules/.package-lock.json

# The build hook of the editable install compiles the extension too.
$(VENV)/.installed: $(VENV)/.torch labextension/node_modules/.package-lock.json pyproject.toml
	@echo "installing jupysched[all,dev] ..." >&2
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[all,dev]' || $(BIN)/python -m pip install --quiet -e '.[all,dev]'
	touch jupysched/labextension/.built $@

# After that only the TypeScript is compiled again when it changed. Copied, not linked: a reinstall would empty what a link points to.
jupysched/labextension/.built: $(VENV)/.installed $(LAB_SOURCES)
	@cd labextension && npm run --silent build >&2 && cd ..
	rm -rf $(SHARE)/static $(SHARE)/schemas && mkdir -p $(SHARE) && cp -r jupysched/labextension/. $(SHARE)/
	touch $@

.PHONY: packages
packages: ## what the tests need of the system: a browser and a C compiler (Debian, as root)
	@.ci/packages chromium gcc

# --- using -----------------------------------------------------------------------------------------------------------

.PHONY: demo
demo: install ## run the quick start notebook for real and show what became of each job
	@mkdir -p output && $(BIN)/jupysched demo --output output/quickstart.html

.PHONY: lab
lab: install ## JupyterLab with everything ready, on the quick start
	@$(BIN)/jupysched lab notebooks/01-quickstart.ipynb

.PHONY: bench
bench: install ## measure, print JSON
	@$(BIN)/python -m benchmarks

# --- proving ---------------------------------------------------------------------------------------------------------

.PHONY: check
check: install ## what must hold before every commit; about a minute
	@$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory check-lab
	$(PYTEST) -q -m 'not slow and not browser and not faults and not gpu'

.PHONY: check-lab
check-lab: labextension/node_modules/.package-lock.json ## the TypeScript part: types, style, tests
	@! grep -q '"resolved"' labextension/package-lock.json || { echo "package-lock.json names a registry host: run npm with labextension/.npmrc in force" >&2; exit 1; }
	cd labextension
	npm run --silent lint
	npm run --silent typecheck
	npm test --silent

.PHONY: test
test: install packages ## every test, under 20 minutes on two cores
	@$(PYTEST)
	$(MAKE) --no-print-directory check-lab

.PHONY: faults
faults: install packages ## what happens when parts are stopped at the worst moment
	@$(PYTEST) -m faults

.PHONY: browser
browser: install packages ## real JupyterLab, real browser
	@$(PYTEST) -m browser

# --- generating ------------------------------------------------------------------------------------------------------

.PHONY: schema
schema: install ## TypeScript types from jupysched.wire
	@$(BIN)/python -m jupysched.wire.typescript labextension/src/api/schema.ts

.PHONY: docs
docs: install ## the generated blocks of the documents
	@$(BIN)/cog -r $(DOCUMENTS)

.PHONY: format
format: install ## let the formatters have their way
	@$(BIN)/ruff check --fix
	$(BIN)/ruff format
	cd labextension && npm run --silent format

.PHONY: clean
clean: ## back to a fresh clone, .venv included
	rm -rf $(VENV) jupysched/labextension labextension/node_modules labextension/lib labextension/tsconfig.tsbuildinfo dist build \
	  .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache output test-results

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):[^#]*## (.*)/\1\t\2/' | expand -t 12
