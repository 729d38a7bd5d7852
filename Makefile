# Everyday work on dualdbg. `make help` lists the targets; nothing here needs more than Python 3.10 and make.
#
#   make PYTHON=python3.12 test     another interpreter (a new one: `make clean` first)
#   make PIP_ARGS="..." demo        more arguments for pip, for example another index for PyTorch
#   make WORKERS=0 test             the tests one after the other (else two files at once for each core)

VENV     ?= .venv
PIP_ARGS ?=
PYTEST_ARGS ?=
# Two for each core: a debugger's tests wait for other processes for half of their time.
WORKERS  ?= $(shell expr $$(nproc) \* 2)

BIN := $(VENV)/bin
SAMPLE_RUN := samples/testdebug.py --break THPModule_initExtension --break randn \
	-x bt -x continue -x bt --batch

export PYTHON

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check fast-tests lint bench docs dist vsix test-editors screenshots clean tools-run tools-dev tools-test tools-editors

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: tools-run $(VENV)/.installed-run ## stop in PyTorch's randn, with Python and C++ in one stack
	@$(BIN)/dualdbg run $(SAMPLE_RUN)
	@echo; echo "next, at the prompt: $(BIN)/dualdbg run samples/testdebug.py --break randn (then bt, step, help)"

test: tools-test $(VENV)/.installed-dev ## all tests, with the real gdb, debugpy and PyTorch
	@echo "running all tests"
	@$(BIN)/python -m pytest -p tests.progress -n $(WORKERS) --maxprocesses=8 --dist loadfile --no-loadscope-reorder \
		$(PYTEST_ARGS)

test-all: export DUALDBG_TEST_ALL = 1
test-all: test ## as test, with all rows of the large tables: hours

# The linters (mypy takes its time where it has no cache) and the tests run side by side.
check: tools-dev $(VENV)/.installed-dev ## in a minute: the linters, the tests without processes and some with them
	@$(MAKE) --no-print-directory -j2 --output-sync=target lint fast-tests

# One worker for each core: most of these tests compute, and each worker collects all tests first.
fast-tests: tools-dev $(VENV)/.installed-dev ## the tests of `make check` without its linters
	@echo "running the fast tests"
	@$(BIN)/python -m pytest -q -n $$(nproc) --maxprocesses=8 --dist worksteal \
		-m "(pure or smoke) and not slow and not torch" --hypothesis-profile=quick $(PYTEST_ARGS)

lint: tools-dev $(VENV)/.installed-dev ## style, types and import layers
	@echo "checking style"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@echo "checking types"
	@$(BIN)/mypy --no-error-summary
	@echo "checking import layers"
	@report=$$($(BIN)/lint-imports --no-logo) || { echo "$$report"; exit 1; }

bench: tools-dev $(VENV)/.installed-dev ## the measurements of bench/, side by side with gdb and debugpy
	@$(BIN)/python -m bench

docs: ## the site of the documentation, in build/site; its tools come once, into an environment of their own
	@scripts/build-docs build/docs-venv $(PIP_ARGS)

dist: ## the sdist and the wheel, in dist/, checked, and the wheel tried in an environment of its own
	@scripts/check-dist build/dist-venv dist $(PIP_ARGS)

vsix: ## the VS Code extension, in dist/; nothing comes from the network
	@"$$(scripts/find-python)" scripts/make-vsix dist

test-editors: tools-editors $(VENV)/.installed-dev ## a real VS Code without a screen: it is downloaded once, and takes minutes
	@DUALDBG_TEST_EDITORS=1 $(BIN)/python -m pytest tests/vscode/editors $(PYTEST_ARGS)

screenshots: tools-dev $(VENV)/.installed-dev ## the pictures of the docs, from real sessions
	@$(BIN)/python scripts/screenshots.py

clean: ## remove the environment and everything that was built
	@rm -rf $(VENV) build dist

tools-run:
	@scripts/ensure-tools venv gdb

tools-dev:
	@scripts/ensure-tools venv gdb g++ headers dot

tools-test:
	@scripts/ensure-tools venv gdb g++ headers dot --if-possible \
		sudo nvim emacs tmux strace node npm python3.14
	@scripts/fetch-crates build/crates

tools-editors:
	@scripts/ensure-tools venv gdb g++ headers node npm chromium

$(VENV)/.installed-run: pyproject.toml
	@echo "installing dualdbg and PyTorch into $(VENV)"
	@scripts/install $(VENV) $(PIP_ARGS) -e '.[torch]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml
	@echo "installing dualdbg, PyTorch and the tools of development into $(VENV)"
	@scripts/install $(VENV) $(PIP_ARGS) -e '.[torch,dev]'
	@touch $(VENV)/.installed-run $@
