# Two commands do everything on a fresh machine: `make audit` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# One worker more than there are cores: tests also wait, for servers and for processes that they start.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# The tests of a file on one worker: what they share is made once. A worker that crashes ends the run as
# a failure: a run that starts a new worker instead waits for tests that nobody runs.
IN_PARALLEL := -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart=0
export NO_MKDOCS_2_WARNING := 1

.PHONY: help audit test test-all check installs format docs reference bench mutants constraints wheel clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[torch,server,spark,postgres,excel,dev]'
	@touch $@

audit: $(READY) ## audit the bundled data: prints a summary, writes report.html
	$(BIN)/tacit audit --out report.html

# One thread a worker: threads of several workers on the same cores wait for each other longer than they work.
test test-all: export OMP_NUM_THREADS := 1
# Sets have the same order in every run, as conftest.py makes every draw the same.
test test-all: export PYTHONHASHSEED := 0
# Tests are compiled, and their asserts rewritten, once and not by each worker of each run, wherever this is set.
test test-all: export PYTHONDONTWRITEBYTECODE :=

test: $(READY) ## the test suite, without the slow cases
	$(BIN)/python -m pytest $(IN_PARALLEL) -m "not slow"

test-all: $(READY) ## the test suite, slow cases included
	$(BIN)/python -m pytest $(IN_PARALLEL) -o faulthandler_timeout=3600

check: $(READY) ## ruff, mypy --strict, the layers, the docs, the command reference
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/command_reference.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python scripts/check_site.py

installs: $(READY) ## install the core for every Python and each extra from nothing, and run the README
	$(BIN)/python scripts/check_installs.py

format: $(READY) ## apply ruff's fixes and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

reference: $(READY) ## write docs/commands.md from --help
	$(BIN)/python scripts/command_reference.py

docs: $(READY) ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(READY) ## run every benchmark: a table on the terminal, JSON in benchmarks/results
	$(BIN)/python -m benchmarks

mutants: $(READY) ## change one thing at a time in what draws, charges, locks, rounds or publishes: do tests notice?
	$(BIN)/python scripts/mutants.py

constraints: ## pin what is installed now
	$(BIN)/python -m pip freeze --exclude-editable | sed 's/+cpu//' > constraints.txt

wheel: $(READY) ## build the wheel into dist/
	$(BIN)/python -m build --wheel

clean: ## remove what was built, keep the data
	rm -rf .venv build dist site report.html
