# Everything this repository does, from a clone to figures. Needs make and Python 3.11 to 3.14.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/ready

# All experiments; files that begin with _ are parts shared by several experiments.
EXPERIMENTS := $(patsubst conf/experiment/%.yaml,%,$(sort $(shell find conf/experiment -name '*.yaml' ! -name '_*')))
FIG ?= $(EXPERIMENTS)
comma := ,
empty :=
SWEEP := -m +experiment=$(subst $(empty) $(empty),$(comma),$(strip $(FIG)))
NAMED := $(if $(filter file,$(origin FIG)),,$(SWEEP)) # for commands that take all experiments if none is named

# The environment is made again if PYTHON on the command line differs from the one it was made with.
ifeq ($(origin PYTHON),command line)
ifneq ($(PYTHON),$(shell cat $(READY) 2>/dev/null))
.PHONY: $(READY)
endif
endif

.DELETE_ON_ERROR:
.PHONY: help setup figures site explore ask quick test lint javascript axe check accept reproduce audit mutants bench lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(READY) ## make .venv from requirements.lock (again only when the lock changes)

$(READY): requirements.lock
	@$(PYTHON) -c 'import sys; ok = (3, 11) <= sys.version_info[:2] <= (3, 14); \
	sys.exit(0 if ok else "Python 3.11 to 3.14 is needed, $(PYTHON) is " + sys.version.split()[0] \
	+ "; name another with: make setup PYTHON=python3.12")'
	$(PYTHON) -m venv --clear $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@echo $(PYTHON) > $@

figures: $(READY) ## simulate missing cells, draw figures that are not up to date; FIG=sajed2019/fig03 for one, ARGS="..." for overrides
	$(RUN) -m scripts.figures $(NAMED) complete=true $(ARGS)

site: $(READY) ## build site/index.html: guide, papers, theorems, privacy, atlas, performance, claims, explorer, API; needs no server and no network; ARGS="--config-dir mine results_dir=mine/results strict=true" adds yours, fails if parts are missing
	$(RUN) -m scripts.site $(NAMED) $(ARGS)

explore: $(READY) ## write explore/index.html: every stored result on one page, to be asked and compared; ARGS="--config-dir mine results_dir=mine/results" adds yours
	$(RUN) -m scripts.explore $(NAMED) $(ARGS)

ask: $(READY) ## ask about your own case on a local page, http://127.0.0.1:8080; ARGS="--port 8123 --no-show"
	$(RUN) -m scripts.ask $(ARGS)

# Bytecode is always written for tests: with its cache of rewritten test files pytest collects in half the time.
quick test: export PYTHONDONTWRITEBYTECODE =

quick: lint ## like test, but without tests marked slow or browser: less than a minute
	$(RUN) -m pytest -n auto -m "not slow and not browser" $(ARGS)

test: lint ## lint, type-check and run all tests, on all cores; ARGS="-k leader" for some of them
	$(RUN) -m pytest -n auto $(ARGS)

lint: $(READY) ## lint and type-check
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

javascript: ## lint and type-check the JavaScript of the explorer; needs npx, which downloads both tools
	npx --yes --package=typescript@7.0.2 tsc -p scripts/explore/page/jsconfig.json
	npx --yes oxlint@1.94.0 --config scripts/explore/page/.oxlintrc.json scripts/explore/page

axe: $(READY) ## check that the site is accessible, by axe in Chromium; needs npm, which downloads it
	npm install --silent --no-save --prefix scratch/axe axe-core@4.14.1
	$(RUN) -m pytest tests/scripts/site/test_site.py -k axe $(ARGS)

check: $(READY) ## simulate a sample of every cell again, compare figures with baselines, verdicts with their file, loops with plain ones; FIG and ARGS as above
	$(RUN) -m experiments.check $(SWEEP) $(ARGS)
	$(RUN) -m scripts.check_figures $(SWEEP) $(ARGS)
	$(if $(strip $(NAMED)),,$(RUN) -m experiments.claims strict=true)
	$(RUN) -m scripts.bench.guard

accept: $(READY) ## make the current figures the new baselines; FIG="sajed2019/fig03 sajed2019/fig04" for some
	$(RUN) -m scripts.check_figures $(SWEEP) $(ARGS) accept=true

reproduce: $(READY) ## simulate everything again from scratch and compare it with the stored results; CLAIM=by-5x for what decides a claim, judged again
	$(RUN) -m $(if $(CLAIM),experiments.claims.again id=$(CLAIM),experiments.reproduce $(SWEEP)) $(ARGS)

audit: $(READY) ## audit the privacy of every policy: results/audit.parquet, of which the site makes a page
	$(RUN) -m scripts.privacy $(ARGS)

mutants: $(READY) ## test the tests: change the code in more than 1,000 ways, one at a time, and see whether tests fail; ARGS=bounds for files with that path, ARGS="--draw 20" for 20 random changes
	$(RUN) -m tests.mutants $(ARGS)

bench: $(READY) ## measure the speed of every policy, beside plain loops and other libraries, and of commands: results/performance.json, of which the site makes a page
	$(RUN) -m scripts.bench

lock: ## update requirements.lock from pyproject.toml (needs uv)
	uv pip compile --quiet --universal --fork-strategy fewest --no-emit-index-url --generate-hashes --upgrade --extra dev \
	--custom-compile-command "make lock" pyproject.toml --output-file requirements.lock

clean: ## remove .venv, figures, site, explorer, scratch files and caches; results stay
	rm -rf $(VENV) figures site explore scratch build .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
