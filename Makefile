# Moorage. `make help` lists what there is; each target sets up what it needs.
SHELL := /bin/sh
BASE_PYTHON ?= python3
VENV := .venv
PYTHON := $(VENV)/bin/python
VENV_READY := $(VENV)/.ready
# In two processes, each with a control plane of its own: tests wait more than they work. On a user's cluster in one.
WORKERS ?= $(if $(MOORAGE_KUBECONFIG),0,2)
PYTEST := $(PYTHON) -m pytest -n $(WORKERS) --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-cluster lint format crds bench clean prerequisites

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

include tests/controlplane/cluster.mk

prerequisites:
	@command -v $(BASE_PYTHON) >/dev/null || { echo "Moorage needs Python 3.11 or newer on PATH (or BASE_PYTHON=/path/to/python3)." >&2; exit 1; }
	@$(BASE_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Moorage needs Python 3.11 or newer, but $(BASE_PYTHON) is $$($(BASE_PYTHON) --version). Name another one: make BASE_PYTHON=python3.12 ..." >&2; exit 1; }
	@$(BASE_PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(BASE_PYTHON) cannot make virtual environments; install its venv package (Debian: apt-get install python3-venv)." >&2; exit 1; }

$(VENV_READY): pyproject.toml constraints.txt | prerequisites
	@echo "Setting up $(VENV) (about a minute)" >&2
	@$(BASE_PYTHON) -m venv $(VENV)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test,lint]'
	@touch $@

demo: $(VENV_READY) ## run the main job on a real control plane and show it (KEEP=1 leaves the cluster up)
	@$(PYTHON) -m tests.demo $(if $(KEEP),--keep)

test: $(VENV_READY) ## run all tests; the control plane is built the first time
	@$(PYTHON) -m tests.controlplane build & build=$$!; \
	  $(PYTEST) tests/unit tests/feed tests/manifests; fast=$$?; \
	  wait $$build && $(PYTEST) tests/controlplane tests/cluster tests/standby tests/e2e && exit $$fast

test-fast: $(VENV_READY) ## run the tests that need no cluster
	@$(PYTEST) tests/unit tests/feed tests/manifests

test-cluster: $(VENV_READY) ## run the tests on the real control plane
	@$(PYTEST) tests/controlplane tests/cluster tests/standby tests/e2e

lint: $(VENV_READY) ## check format, style, types, layers and that generated files are current
	@$(PYTHON) -m ruff format --check operator tests
	@$(PYTHON) -m ruff check operator tests
	@$(PYTHON) -m mypy
	@$(VENV)/bin/lint-imports

format: $(VENV_READY) ## format the code and mend what can be mended
	@$(PYTHON) -m ruff check --fix operator tests
	@$(PYTHON) -m ruff format operator tests

crds: $(VENV_READY) ## write crds/ from the models, and manifests/policies from the policies as code
	@$(PYTHON) -m moorage.api crds
	@$(PYTHON) -m moorage.admission.policies manifests/policies

bench: $(VENV_READY) ## print latency, throughput and memory figures
	@$(PYTHON) -m tests.bench

clean: ## remove the virtual environment and caches (the built control plane stays)
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache operator/*.egg-info
	@find operator tests -name __pycache__ -type d -prune -exec rm -rf {} +
