# The commands of the house. Each of the others calls `setup`, which leaves a complete .venv.
# Needs make and Python >= 3.11; uv is used where it is there, else venv and pip.

.PHONY: setup demo test check bench lock clean help
.DEFAULT_GOAL := help

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	$$p -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
UV := $(shell command -v uv 2>/dev/null)
RUN := .venv/bin/python
STAMP := .venv/.complete

help: ## what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(STAMP) ## a complete .venv, from the hashed lock

$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; none was found. Set PYTHON=/path/to/python3."; exit 1; }
ifneq ($(UV),)
	$(UV) venv --quiet --clear --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" .venv
	$(UV) pip install --quiet --python $(RUN) --require-hashes -r requirements.lock
	$(UV) pip install --quiet --python $(RUN) --no-deps --no-build-isolation -e .
else
	$(PYTHON) -m venv --clear .venv
	$(RUN) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
endif
	@touch $@

demo: setup ## the main job, in under a minute after set-up
	@.venv/bin/chrysalis demo

test: setup ## the tests
	$(RUN) -m pytest

check: setup ## lint, format, types, import arrows, claims against results
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m basedpyright
	$(RUN) -m pytest tests/test_architecture.py tests/validation/test_claims.py tests/validation/test_results.py
	$(RUN) -m validation.report --check

bench: setup ## speed and memory, as ratios within one run
	$(RUN) -m pytest -m bench tests/bench

lock: ## rewrite requirements.lock from pyproject.toml (needs uv)
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 \
		--group dev pyproject.toml -o requirements.lock

clean: ## take away what was built
	rm -rf .venv .pytest_cache .ruff_cache build dist
