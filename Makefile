# One command for each habit. All targets need make and a Python from 3.11 to 3.14 with venv; whatever else they need they install
# into .venv from requirements.lock. PYTHON=/path/to/python3.13 chooses the interpreter.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
PACKAGES := schemas ledger consumers ops
READY := $(VENV)/.ready
UV_VERSION := 0.13.9

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONUTF8 := 1

.PHONY: help demo test check format schemas bench evidence lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: $(READY) ## the main job on a bundled transcript: what was lost, what would have been refused
	$(BIN)/cledger demo

test: $(READY) ## every test; ARGS="-k name -x" narrows it
	$(BIN)/python -m pytest $(ARGS)

check: $(READY) ## format, lint, types, import contracts, exported schemas
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m ops.schema_export --check

format: $(READY) ## rewrite formatting and what the linter can mend by itself
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

schemas: $(READY) ## write schemas/exported anew
	$(BIN)/python -m ops.schema_export

bench: $(READY) ## ratios of speed against the goals; ARGS="--only G1,G2" narrows it
	$(BIN)/python -m tests.bench $(ARGS)

evidence: $(READY) ## tables beside the figures of the rules' sources; ARGS="--turns 2000" is a short session
	$(BIN)/python -m ops.evidence $(ARGS)

lock: $(READY) ## resolve requirements.lock anew
	$(BIN)/python -m pip install --quiet uv==$(UV_VERSION)
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--no-emit-index-url --no-emit-find-links --extra test --extra dev pyproject.toml --output-file requirements.lock
	touch $(READY)

clean: ## remove the environment and everything that was generated
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find $(PACKAGES) tests -type d -name __pycache__ -prune -exec rm -rf {} +

# The environment. The stamp is written last, so that an interrupted installation is not taken for a finished one.
# A launcher such as python3.13 can be on the path and still not start, so each candidate is asked for its version.
$(READY): requirements.lock pyproject.toml
	@if [ ! -x $(BIN)/python ] || ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		chosen=; \
		for candidate in $${PYTHON:-python3.13 python3.12 python3.11 python3.14 python3}; do \
			if "$$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' 2>/dev/null; then \
				chosen=$$candidate; break; \
			fi; \
		done; \
		if [ -z "$$chosen" ]; then \
			echo "No Python from 3.11 to 3.14 was found$${PYTHON:+ at $$PYTHON}." >&2; \
			echo "Install one (Debian: apt-get install python3 python3-venv) or name one: make PYTHON=/path/to/python3" >&2; \
			exit 2; \
		fi; \
		if ! "$$chosen" -c 'import ensurepip, venv' 2>/dev/null; then \
			echo "$$chosen has no venv module. Debian and Ubuntu: apt-get install python3-venv" >&2; \
			exit 2; \
		fi; \
		rm -rf $(VENV); \
		echo "Creating $(VENV) with $$("$$chosen" --version)" >&2; \
		"$$chosen" -m venv $(VENV); \
	fi
	@echo "Installing from requirements.lock" >&2
	@$(BIN)/python -m pip install --quiet --no-compile --require-hashes --requirement requirements.lock
	@$(BIN)/python -m pip install --quiet --no-compile --no-deps --no-build-isolation --editable .
	@touch $@
