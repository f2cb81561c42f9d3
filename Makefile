# kraftcheck. `make check` after a change, `make test` before a merge; `make help` lists the rest.
#
# Everything is installed into .venv next to this file; paths are relative, so that the folder may be
# anywhere, also where its path has spaces. Another interpreter: `make check PYTHON=python3.13`.

SHELL := /bin/sh
.DEFAULT_GOAL := help
# One target after the other, but for those that `make test` runs side by side.
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif

PYTHON ?= python3
NEW_ENOUGH := "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
VENV := .venv
INSTALLED := $(VENV)/.installed
WITH_SPARK := $(VENV)/.with-spark
COMPILED := $(VENV)/.compiled
RUN := $(VENV)/bin/python -m

# Nothing outside this folder decides what the tests do.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE PYTEST_ADDOPTS MYPYPATH

# Random tests take the same examples in every run; `make nightly` takes new ones.
PYTEST := $(RUN) pytest --ignore=tests/recorded
SEEDED := $(PYTEST) --numprocesses=auto --dist=worksteal --hypothesis-seed=0
# Slow tests often wait for processes, timers and browsers: one worker more than there are cores has work meanwhile.
ONE_MORE := --numprocesses=$(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# What runs beside the tests yields to them.
YIELDING := $(if $(SIDE_BY_SIDE),nice -n 5)
KRAFTCHECK := $(strip $(YIELDING) $(VENV)/bin/kraftcheck)
BESIDE := $(MAKE) --no-print-directory --output-sync=target SIDE_BY_SIDE=1
# Without the compilation of all that is installed, of which little is imported.
INSTALL := $(RUN) pip install --quiet --disable-pip-version-check --no-compile

# Runs the rest of the line if there is Java; otherwise says loudly that it does not.
WITH_JAVA := command -v java >/dev/null || [ -n "$$JAVA_HOME" ] || { \
  echo "================================================================================" >&2; \
  echo "NOT RUN: what needs Java: Spark (17 or later), runs of TLC (11 or later). Install for example" >&2; \
  echo "the package default-jre-headless. Everything else is run, TLC's recorded answers included." >&2; \
  echo "================================================================================" >&2; exit 0; };

# Says loudly what is left out where there is no Node.js or no Chromium.
SAY_IF_LEFT_OUT := command -v node >/dev/null || { \
  echo "================================================================================" >&2; \
  echo "NOT RUN: the consumers of tests/vectors in JavaScript (they need Node.js). All else is." >&2; \
  echo "================================================================================" >&2; }; \
  command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
  echo "================================================================================" >&2; \
  echo "NOT RUN: the pages in Chromium (they need chromium and chromium-driver). All else is." >&2; \
  echo "================================================================================" >&2; }

.PHONY: docs help install check test pytest fast slow scenarios everything proofs refinement mutants tlc answers spark prepared beside fetched tools venv-package pages executed vectors lint format types recorded kafka session nightly bench clean

help: ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

install: $(INSTALLED) ## create .venv and install kraftcheck and what its tests need

check: $(COMPILED) fast scenarios ## the default suite: fast tests, and the CI scenarios whose result may have changed

test: prepared beside ## everything CI runs: lint, types, all of `check`, slow tests, proofs, mutants, TLC, Spark

# What the rest needs. Installing mostly waits for the network, so all scenarios are explored beside it; `mutants`
# takes the results of those without a mutant from there.
prepared: $(INSTALLED)
	@$(BESIDE) --jobs=3 lint everything fetched

# Spark is for those who have Java, perhaps since a moment ago.
fetched: tools
	@$(BESIDE) $(WITH_SPARK)

# The tests often wait for processes and browsers: beside them run two targets that keep one core busy each. Each
# prints what it says when it ends; only the tests say how far they are, past --output-sync.
beside: $(INSTALLED) $(WITH_SPARK)
	@$(BESIDE) --jobs=3 pytest mutants tlc types proofs spark 3>&1

nightly: $(WITH_SPARK) ## what takes minutes: all tests on new and more random examples, nightly scenarios
	$(PYTEST) --hypothesis-profile=nightly
	$(RUN) pytest -rs --hypothesis-profile=nightly tests/recorded
	$(KRAFTCHECK) mutate
	$(KRAFTCHECK) check --tag nightly
	@$(WITH_JAVA) $(KRAFTCHECK) tlc
	@$(WITH_JAVA) $(KRAFTCHECK) tlc --mutants

bench: $(INSTALLED) ## measure the engine
	$(KRAFTCHECK) bench

fast: $(INSTALLED) ## the fast tests alone
	$(SEEDED) -m "not slow and not nightly and not spark"
	@$(SAY_IF_LEFT_OUT)

pytest: $(INSTALLED) ## the fast and the slow tests
	$(SEEDED) $(ONE_MORE) -m "not nightly and not spark" $(if $(SIDE_BY_SIDE),>&3 2>&1)
	@$(SAY_IF_LEFT_OUT)

slow: $(INSTALLED) ## the slow tests alone
	$(SEEDED) -m "slow and not nightly and not spark"

scenarios: $(INSTALLED) ## the CI scenarios alone, those whose result may have changed
	$(KRAFTCHECK) check

everything: $(INSTALLED) ## the CI scenarios alone, all of them
	$(KRAFTCHECK) check --all

proofs: $(INSTALLED) ## prove the safety core for any number of replicas
	$(KRAFTCHECK) prove $(if $(SIDE_BY_SIDE),--timeout 240)

refinement: $(INSTALLED) ## check millions of transitions of the reference against the proved system
	$(KRAFTCHECK) prove --refinement

mutants: $(INSTALLED) ## remove one guard of the reference at a time; the checker must notice
	$(KRAFTCHECK) mutate $(if $(SIDE_BY_SIDE),--jobs 1 --timeout 480)

tlc: $(INSTALLED) ## small scenarios and mutants against the answers of TLC that tla/ has
	$(KRAFTCHECK) tlc --small --recorded $(if $(SIDE_BY_SIDE),--threads 1 --jobs 1)
	$(KRAFTCHECK) tlc --mutants --recorded $(if $(SIDE_BY_SIDE),--jobs 1)

answers: $(INSTALLED) ## run TLC on these and record its answers, after a change in tla/; takes four minutes
	$(KRAFTCHECK) tlc --small --record
	$(KRAFTCHECK) tlc --mutants --record

spark: $(WITH_SPARK) ## the pipelines, on Spark in this machine's processes
	@$(WITH_JAVA) $(YIELDING) $(SEEDED) --numprocesses=0 -m "spark and not nightly" tests/pipeline

# kraftcheck itself is there already and stays in use meanwhile.
$(WITH_SPARK): $(INSTALLED)
	@$(WITH_JAVA) $(INSTALL) 'kraftcheck[spark]' && touch $(WITH_SPARK)

# The engine's machine code: otherwise each of the first processes compiles it.
$(COMPILED): $(INSTALLED) $(wildcard model_check/engine/*.py)
	@$(VENV)/bin/python -c 'from kraftcheck.engine.prepared import prepare; prepare()'
	@touch $(COMPILED)

# Java for TLC and Spark, Node.js for a consumer of the vectors, Chromium for the pages. Where they cannot be
# installed, the tests that need them are left out, and that is said.
tools: venv-package
	@[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	for tool in java:default-jre-headless node:nodejs chromium:chromium chromedriver:chromium-driver; do \
	  command -v "$${tool%%:*}" >/dev/null || { [ "$$tool" = java:default-jre-headless ] && [ -n "$$JAVA_HOME" ]; } || { \
	    echo "make: installing $${tool#*:}"; \
	    apt-get install -qq -y --no-install-recommends "$${tool#*:}" >/dev/null 2>&1 || { apt-get update -qq; \
	      apt-get install -qq -y --no-install-recommends "$${tool#*:}" >/dev/null; }; }; \
	done || true

recorded: $(INSTALLED) ## recorded runs of production Kafka, from the folder that KRAFTCHECK_RUNS names
	$(RUN) pytest -rs --numprocesses=auto --dist=worksteal -m "not nightly" tests/recorded

kafka: $(INSTALLED) ## drive Apache Kafka, a release or a source tree: make kafka KAFKA=PATH [JARS=FOLDER]
	@[ -n "$(KAFKA)" ] || { echo "make: say which Kafka: make kafka KAFKA=PATH [JARS=FOLDER]" >&2; exit 2; }
	KRAFTCHECK_KAFKA="$(KAFKA)" KRAFTCHECK_KAFKA_JARS="$(JARS)" $(RUN) pytest -rs --numprocesses=0 tests/evidence/kafka tests/evidence/junit
	$(KRAFTCHECK) drive --kafka "$(KAFKA)" $(if $(JARS),--jars "$(JARS)") --keep-going

SESSIONS := tests/evidence/adapters/sessions

session: $(INSTALLED) ## record tests' session of a Kafka anew: make session RELEASE=4.4 KAFKA=PATH [JARS=FOLDER]
	@[ -n "$(KAFKA)" ] && [ -n "$(RELEASE)" ] || { echo "make: say which Kafka: make session RELEASE=4.4 KAFKA=PATH [JARS=FOLDER]" >&2; exit 2; }
	@whole="$$(mktemp)" && trap 'rm -f "$$whole"' EXIT && { \
	$(KRAFTCHECK) drive --kafka "$(KAFKA)" $(if $(JARS),--jars "$(JARS)") --keep-going --record "$$whole" || [ $$? = 1 ]; } && \
	$(RUN) tests.laboratory.drive.shorten "$$whole" $(SESSIONS)/kafka-$(RELEASE).jsonl.gz

pages: $(INSTALLED) ## write the generated pages of docs/ anew
	EXECUTED_BY_TESTS=model_check/checking/coverage/executed_by_tests.json $(PYTEST) --numprocesses=0 tests/reference
	$(KRAFTCHECK) rules --table -o docs/rule-table.md
	$(KRAFTCHECK) bugs --markdown -o docs/historical-bugs.md
	$(RUN) kraftcheck.checking.finding_pages docs
	$(RUN) kraftcheck.systems.scenario_schema > docs/schemas/scenario-file.json

docs: $(INSTALLED) ## the site for the browser, with search and all counterexamples: build/site
	$(RUN) kraftcheck.site.build build/site

executed: $(INSTALLED) ## record what scenarios and vectors execute, for `kraftcheck impact`; takes minutes
	$(RUN) kraftcheck.impact.record
	$(RUN) kraftcheck.site.counterexamples

vectors: $(WITH_SPARK) ## make tests/vectors anew, after a change of what the reference answers; takes two minutes
	$(KRAFTCHECK) pipeline vectors -o tests/vectors
	$(KRAFTCHECK) pipeline vectors --check tests/vectors

lint: $(INSTALLED) ## style and formatting
	$(RUN) ruff check .
	$(RUN) ruff format --check .

# The packages lie next to each other in a checkout; links show mypy the package that they are.
types: $(INSTALLED) ## mypy --strict
	@rm -rf .types && mkdir -p .types/kraftcheck && cd .types/kraftcheck && ln -s ../../model_check/[!_]* ../../model_check/__*.py ../../reference ../../spec .
	$(YIELDING) $(RUN) mypy --strict

format: $(INSTALLED) ## rewrite the sources in the project's style
	$(RUN) ruff check --fix .
	$(RUN) ruff format .

clean: ## remove .venv and everything else that can be made again
	rm -rf $(VENV) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp lies in .venv and goes away with it. On Debian and Ubuntu `venv` is a package of its own.
$(INSTALLED): pyproject.toml | venv-package
	@$(NEW_ENOUGH) || { \
	  echo "make: kraftcheck needs Python 3.11 or later, which '$(PYTHON)' is not; name another: make PYTHON=..." >&2; \
	  exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "make: '$(PYTHON)' cannot create virtual environments: install the package python3-venv." >&2; \
	  exit 1; }
	@rm -rf $(VENV)
	"$(PYTHON)" -m venv $(VENV)
	$(INSTALL) --editable '.[dev]'
	@touch $(INSTALLED)

# A target of its own, so that only one process at a time runs apt-get.
venv-package:
	@[ -d $(VENV) ] || ! $(NEW_ENOUGH) || "$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && { \
	    package="$$("$(PYTHON)" -c 'import sys; print(f"python{sys.version_info[0]}.{sys.version_info[1]}-venv")')"; \
	    echo "make: installing python3-venv"; \
	    apt-get install -qq -y --no-install-recommends python3-venv "$$package" >/dev/null || { \
	      apt-get update -qq && \
	      apt-get install -qq -y --no-install-recommends python3-venv "$$package" >/dev/null; }; }; } || true
