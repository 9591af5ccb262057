# Every habit has one verb. `make run` and `make test` set up what they need.
# `make run ONCE=1` ends after the first experiment; `make bench NAME=...` runs benchmarks/NAME.

SHELL := /bin/bash
VENV := .venv
PYTHON ?= python3
PY := $(VENV)/bin/python
export BIGBATCH_HOME ?= $(CURDIR)/.bigbatch
export MESSAGE
# containers often set it: then every process of the tests would compile all sources again
export PYTHONDONTWRITEBYTECODE :=
WEB := $(shell find web/src web/public web/*.json web/*.ts web/*.html -type f 2>/dev/null)

.PHONY: run quick test test-all land chaos chaos-workflow fuzz check check-python check-web fix bench gpu lab lab-down client reference migrate packages pins clean clean-data

run: .make/service web/dist/index.html
	$(VENV)/bin/bigbatch first-run recipes/first-run.yaml $(if $(ONCE),--once)

# Three rings of tests, each part of the next one (tests/gate/rings.py). quick: under a minute on two cores
PYTEST := $(PY) -m pytest -q
quick: .make/dev
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(PYTEST) -n 2 --dist worksteal --ring=quick

# the gate: checks, all fast tests, and one end-to-end test of each kind on real parts; ten minutes
test:
	$(PYTHON) -m tests.gate

# every test there is, the long faults too: two hours
test-all:
	$(PYTHON) -m tests.gate --ring=all

# moves main to the commit at hand after .ci/run has passed on a clean clone of it
land:
	$(PYTHON) -m tests.gate.land

# random faults over a stream of short runs on the lab: make chaos MINUTES=20 SEED=1 KEEP=folder
MINUTES ?= 5
SEED ?= 0
chaos: packages .make/dev
	$(PY) -m tests.faults.chaos --minutes $(MINUTES) --seed $(SEED) $(if $(KEEP),--keep $(KEEP))

# random kills while workflows of 100 steps are carried out on the lab: make chaos-workflow KILLS=200 SEED=1 KEEP=folder
KILLS ?= 200
chaos-workflow: packages .make/dev
	$(PY) -m tests.faults.workflow_chaos --kills $(KILLS) --seed $(SEED) $(if $(KEEP),--keep $(KEEP))

check: check-python check-web

check-python: .make/dev
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

check-web: .make/dev .make/web
	cd web && npm run --silent types && npm run --silent lint
	cd web && npm run --silent client:check

fix: .make/dev .make/web
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .
	cd web && npm run --silent fix

bench: .make/dev
	$(PY) -m benchmarks.$(NAME)

# every path for GPUs on the one to eight GPUs of this machine, in ten minutes: writes benchmarks/results/gpu.json.
# make gpu CPU=yes rehearses the same on CPUs and writes nothing; SHARED=yes runs four ranks on the first GPU
gpu: .make/dev
	$(PY) -m benchmarks.gpu $(if $(CPU),--cpu) $(if $(SHARED),--shared)

# requests made up from the OpenAPI document, against a service on SQLite and on PostgreSQL, then hostile runs beside
# honest ones for some minutes: make fuzz CALLS=5000 MINUTES=30 SEED=1
CALLS ?= 4000
fuzz: .make/dev
	$(PY) -m tests.testing.fuzz --calls $(CALLS)
	$(PY) -m tests.testing.faults.hostile_campaign --minutes $(MINUTES) --seed $(SEED)

lab: .make/dev
	$(PY) -m lab up $(if $(RATE),--rate $(RATE))

lab-down: .make/dev
	$(PY) -m lab down

# the dashboard's types, from the API's own description
client: .make/dev .make/web
	cd web && npm run --silent client

# the pages with all fields of a spec, from the models
reference: .make/dev
	$(PY) -m contract.reference

# a migration from the database as the last one left it to the tables as they are: make migrate MESSAGE="..."
migrate: .make/dev
	export BIGBATCH_HOME=$$(mktemp -d) BIGBATCH_DATABASE= && \
	  $(PY) -m migrations upgrade && $(PY) -m migrations new "$$MESSAGE"

# Debian packages that the tests drive; elsewhere, or without root, those tests are skipped and say so
packages:
	@$(PYTHON) tests/testing/packages.py

# what make can make again; experiments stay
clean:
	rm -rf $(VENV) .make web/node_modules web/dist
	@[ ! -d .bigbatch ] || echo "Kept: the experiments in .bigbatch ($$(du -sh .bigbatch | cut -f1)); make clean-data deletes them."

# asks first; `make clean-data CONFIRM=yes` answers the question
clean-data:
	@if [ ! -d .bigbatch ]; then echo "There is no folder .bigbatch, so nothing was deleted."; exit 0; fi; \
	pid=$$(cat .bigbatch/up.lock 2>/dev/null); if [ -n "$$pid" ] && kill -0 "$$pid" 2>/dev/null; then \
	  echo "A service runs on .bigbatch (process $$pid): stop it first."; exit 1; fi; \
	echo "This deletes all experiments in $(CURDIR)/.bigbatch, with curves and checkpoints: $$(du -sh .bigbatch | cut -f1)."; \
	answer="$(CONFIRM)"; [ -n "$$answer" ] || read -r -p "Type yes to delete them: " answer; \
	[ "$$answer" = yes ] || { echo "Nothing was deleted."; exit 1; }; rm -rf .bigbatch; echo "Deleted."

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Bigbatch needs Python 3.11 or later; choose one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "could not make $(VENV); on Debian: apt-get install python3-venv"; exit 1; }

# pip shows its progress: an installation takes minutes
PIP := $(VENV)/bin/pip install --disable-pip-version-check
# Every package has a hash except torch and its accelerator libraries, whose builds differ between package indexes
# (docs/decisions/0027-pins-with-hashes.md). setuptools, which builds the last package, has one too.
define install
	@echo "Installing Python packages into $(VENV), PyTorch last: once, a few minutes on a usual connection."
	$(PIP) --require-hashes --no-deps -r $(1)
	$(PIP) -c constraints.txt torch
	$(PIP) --no-deps --no-build-isolation -e .
endef

.make/service: pyproject.toml constraints.txt requirements/service.txt | $(PY)
	$(call install,requirements/service.txt)
	@mkdir -p .make && touch $@

.make/dev: pyproject.toml constraints.txt requirements/dev.txt | $(PY)
	$(call install,requirements/dev.txt)
	@mkdir -p .make && touch $@ .make/service

# the hashes of the versions in constraints.txt, for every platform; needs the package index
HASHES := pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
  --custom-compile-command "make pins"
PINNED := pyproject.toml --extra service --extra trainer --constraint constraints.txt \
  --config-file requirements/uv.toml --no-emit-package torch
pins: .make/uv
	.make/uv/bin/uv $(HASHES) $(PINNED) -o requirements/service.txt
	.make/uv/bin/uv $(HASHES) $(PINNED) --extra dev -o requirements/dev.txt
	.make/uv/bin/uv $(HASHES) requirements/uv.in -o requirements/uv.txt
	.make/uv/bin/uv $(HASHES) requirements/frameworks.in --constraint constraints.txt --config-file requirements/uv.toml \
	  --no-emit-package torch $$(sed -n 's/^\([a-z0-9-]*\)==.*/--no-emit-package \1/p' requirements/dev.txt) \
	  -o requirements/frameworks.txt
	.make/uv/bin/uv $(HASHES) requirements/trackio.in --config-file requirements/uv.toml -o requirements/trackio.txt

.make/uv: requirements/uv.txt
	$(PYTHON) -m venv --clear $@
	$@/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

.make/web: web/package.json web/package-lock.json
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@mkdir -p .make && touch $@

web/dist/index.html: $(WEB) | .make/web
	cd web && npm run --silent build
	@touch $@
