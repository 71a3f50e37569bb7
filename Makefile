# Everything runs in a virtual environment of its own, made on first use. Python 3.11 or later, make and gcc suffice;
# some tests also need Debian's chromium, postgresql, Java 17 and R 4.2.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
AUDIT := $(VENV)/audit
SOURCES := $(shell find src -type f -not -name '*.pyc')
# Packages whose commands are plugged into the core's.
PLUGINS := discreet-service discreet-papers
PLUGIN_SOURCES := $(shell find packages -type f -not -name '*.pyc')
# Nothing that constraints.txt does not name with its digest; what is built here is built with what was installed before.
# Python compiles a module when it is first loaded: most of the parts' modules never are.
INSTALL := install --no-compile --require-hashes --no-deps --no-build-isolation -r
# By name, so that what is installed does not say in which folder it was built.
INSTALL_OURS := install --no-deps --no-index --find-links dist --force-reinstall
FAST := not (browser or database or spark or processes or statistics or slow)
# What Python compiles is kept, whatever the shell says: to make it anew takes ten seconds of each process.
unexport PYTHONDONTWRITEBYTECODE
AS_ROOT := $(if $(filter 0,$(shell id -u)),env,sudo)

.PHONY: demo wheels check test suite doctests fast test-long programs lint docs bench house load coverage study audit dist service help clean r-check r-coverage

help:
	@echo "make demo   the main job on a real table"
	@echo "make wheels  all wheels, in dist, for pip install --find-links dist"
	@echo "make check  style, types, layers, docstrings and the fast tests"
	@echo "make test   all tests, against the built wheels"
	@echo "make programs   installs what some tests need: chromium, postgresql, Java, R"
	@echo "make test-long   the same with all draws, examples and cases, an hour or more"
	@echo "make lint   style, types, layers, docstrings"
	@echo "make docs   the documentation, in docs/_build"
	@echo "make bench  speed beside named peers"
	@echo "make house  the code in figures, beside an earlier commit"
	@echo "make load   the service under many clients, on SQLite and PostgreSQL"
	@echo "make coverage  how often the intervals of regressions hold the truth, hours; SEED=7 for 20 other cells"
	@echo "make study  accuracy by simulation, hours"
	@echo "make service  the service in containers, with PostgreSQL; COMPOSE='docker compose' for Docker"
	@echo "make dist   sdists, wheels, list of parts and digests of what would be published, checked"
	@echo "make r-check  R CMD check of the R package, its vignette built"
	@echo "make r-coverage  which lines of the R package its tests run"
	@echo "make audit  a list of all software parts, and those with known faults; asks an advisory database on the net"

demo: $(VENV)/discreet
	$(BIN)/discreet demo --dir demo
	@echo "The command discreet is in this shell after: . $(BIN)/activate"

wheels: $(VENV)/wheels
	@ls dist/*.whl

check:
	$(MAKE) -j 2 --output-sync=target lint fast

fast: $(VENV)/wheel
	$(BIN)/python -m pytest -n 2 -m "$(FAST)" tests/unit tests/contracts

programs:
	lacking="$$($(PYTHON) tests/programs.py)"; test -z "$$lacking" || { $(AS_ROOT) apt-get update && \
	  $(AS_ROOT) DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $$lacking; }

# Twice as many processes as processors: half of them mostly wait (tests/conftest.py).
test: $(VENV)/wheel $(AUDIT)/tools
	$(MAKE) -j 2 suite doctests

suite:
	$(BIN)/python -m pytest -n 4 tests

doctests:
	$(BIN)/python -m pytest -q --pyargs discreet discreet_service discreet_papers --doctest-modules --doctest-ignore-import-errors --ignore-glob='*/migrations/*' -p no:warnings

test-long: $(VENV)/wheel $(AUDIT)/tools
	DISCREET_LONG=1 $(BIN)/python -m pytest -n 4 tests

lint: $(VENV)/wheel
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/numpydoc lint $$($(BIN)/python -m tests.contracts.docstrings)

docs: $(VENV)/wheel
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build
	@echo "docs/_build/index.html"

bench: $(VENV)/wheel
	$(BIN)/python -m benchmarks

AGAINST ?= 437971b
house: $(VENV)/wheel
	$(BIN)/python -m benchmarks.house --against $(AGAINST)

load: $(VENV)/wheel
	$(BIN)/python -m benchmarks.service_load

coverage: $(VENV)/wheel
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.coverage $(if $(SEED),--seed $(SEED))

study: $(VENV)/wheel
	$(BIN)/python -m benchmarks.study

audit: $(VENV)/wheel $(AUDIT)/tools
	$(AUDIT)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
	  -o dist/discreet.cdx.json $(BIN)/python
	$(AUDIT)/bin/pip-audit --strict --disable-pip --no-deps -r constraints.txt

# The list of parts first: its digest stands beside those of the packages.
dist: audit
	rm -f dist/*.whl dist/*.tar.gz
	$(BIN)/python published.py dist

# The containers install the wheels that are built here, by the steps of the how-to for a bare machine.
COMPOSE ?= podman compose
service: $(VENV)/wheels
	$(COMPOSE) --file packages/discreet-service/container/compose.yaml up --build

# Against the wheel's command. A warning is an error. The vignette is run where the package is built, and not again.
r-check: $(VENV)/discreet
	rm -rf build/r && mkdir -p build/r
	cd build/r && DISCREET=$(abspath $(BIN))/discreet R CMD build $(CURDIR)/r
	cd build/r && DISCREET=$(abspath $(BIN))/discreet _R_CHECK_FORCE_SUGGESTS_=false \
	  R CMD check --no-manual --ignore-vignettes discreet_*.tar.gz
	! grep -E '^Status:.*(ERROR|WARNING)' build/r/discreet.Rcheck/00check.log

r-coverage: $(VENV)/discreet
	DISCREET=$(abspath $(BIN))/discreet Rscript -e 'print(covr::package_coverage("r"))'

clean:
	rm -rf $(VENV) build dist demo docs/_build

# What the core needs to be built and to run.
$(VENV)/core: pyproject.toml constraints.txt constraints.py
	$(PYTHON) -m venv $(VENV)
	$(PYTHON) constraints.py pip setuptools > $(VENV)/installers.txt
	$(PIP) $(INSTALL) $(VENV)/installers.txt
	$(PYTHON) constraints.py build-system discreet > $(VENV)/core.txt
	$(PIP) $(INSTALL) $(VENV)/core.txt
	touch $@

# What the other packages, the extras, the tests and the tools need besides.
$(VENV)/dependencies: $(VENV)/core $(wildcard packages/*/pyproject.toml)
	$(PYTHON) constraints.py $(PLUGINS) postgres spark dev > $(VENV)/requirements.txt
	$(PIP) $(INSTALL) $(VENV)/requirements.txt
	touch $@

# Apart: what comes with them makes every start of the pictures' library wait for seconds.
$(AUDIT)/tools: $(VENV)/dependencies
	$(BIN)/python -m venv --without-pip $(AUDIT)
	$(PYTHON) constraints.py audit > $(AUDIT)/requirements.txt
	$(PIP) --python $(AUDIT)/bin/python $(INSTALL) $(AUDIT)/requirements.txt
	touch $@

# The wheel, built here and installed with the core alone.
$(VENV)/discreet: $(VENV)/core $(SOURCES) README.md LICENSE NOTICE
	rm -rf dist
	$(BIN)/python -m hatchling build -t wheel -d dist > $(VENV)/build.log
	$(PIP) $(INSTALL_OURS) discreet
	touch $@

# What numba compiled holds what it calls in other files as well, and numba looks at a function's own file alone: with
# any kernel all goes.
$(VENV)/kernels: $(VENV)/core $(foreach file,$(SOURCES),$(if $(findstring /kernels/,$(file)),$(file)))
	find . -path '*/discreet/kernels/*.nbi' -delete
	touch $@

# The other wheels, of which nothing is installed here.
$(VENV)/wheels: $(VENV)/discreet $(PLUGIN_SOURCES)
	for name in $(PLUGINS); do \
	  (cd packages/$$name && $(abspath $(BIN))/python -m hatchling build -t wheel -d $(CURDIR)/dist) || exit 1; \
	done >> $(VENV)/build.log
	touch $@

# All wheels, installed with everything that they need.
$(VENV)/wheel: $(VENV)/wheels $(VENV)/dependencies $(VENV)/kernels
	$(PIP) $(INSTALL_OURS) $(PLUGINS)
	touch $@
