# Every target sets up what it needs: `make demo` and `make test` work on a fresh machine.
#
#   PYTHON       the interpreter that .venv is made with (3.10 or later)
#   PIP_FLAGS    added to every pip install, for example an index of CPU-only torch wheels:
#                make setup PIP_FLAGS="--extra-index-url https://download.pytorch.org/whl/cpu"
#   BENCH_FLAGS  what `make bench-replay` passes on, for example "--rows mlp,cnn --threads 1"
PYTHON ?= python3
PIP_FLAGS ?=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
STAMP := $(VENV)/.ostinato-setup
SOURCES := $(shell find csrc -type f) CMakeLists.txt pyproject.toml constraints.txt
CXX_FILES := $(shell find csrc -name '*.cpp' -o -name '*.h')

.DEFAULT_GOAL := help
.PHONY: help setup demo test check-portable check-executorch check-archives check-killed fuzz lint format bench bench-replay bench-train bench-control-flow bench-eigh bench-optim bench-export bench-mx bench-mx-quality docs errors dtypes lint-rules operators doctor-table clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | awk -F'|' '{printf "  make %-18s %s\n", $$1, $$2}'

$(VENV)/.dependencies: constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install -q $(PIP_FLAGS) -c constraints.txt torch numpy rich "tomli; python_version < '3.11'" \
	    scikit-build-core cmake ninja \
	    pytest pytest-xdist hypothesis expecttest ml_dtypes safetensors onnxruntime scikit-learn pillow ruff mypy clang-format mkdocs-material
	touch $@

$(STAMP): $(VENV)/.dependencies $(SOURCES)
	$(PIP) install -q --no-build-isolation --no-deps --editable .
	touch $@

setup: $(STAMP) ## make .venv with pinned dependencies and an editable build of the package

demo: setup ## deploy a real TorchScript model and run it on half a minute of speech
	@$(BIN)/python examples/voice_activity/demo.py

# A process for each core: the tests of one file may run in several.
PYTEST_FLAGS ?= -n auto --maxprocesses 8 --dist worksteal
test: setup ## run every test
	$(BIN)/python -m pytest -q $(PYTEST_FLAGS)

TORCHES ?= 2.11.0 2.13.0
check-portable: setup ## write programs of all kinds, run them with torch alone: each of TORCHES, in a .venv of its own
	rm -rf build/portable && $(BIN)/python -W ignore -m tests.export.portable build/portable
	@for torch in $(TORCHES); do \
	    test -x .portable/$$torch/bin/python || $(PYTHON) -m venv .portable/$$torch; \
	    .portable/$$torch/bin/python -m pip --disable-pip-version-check install -q $(PIP_FLAGS) torch==$$torch numpy && \
	    .portable/$$torch/bin/python -I tests/export/alone.py build/portable || exit 1; \
	done

check-executorch: setup $(VENV)/.executorch ## lower programs with ExecuTorch and run them in its runtime
	$(BIN)/python -m pytest -q tests/export/test_executorch.py tests/cli/test_convert.py

$(VENV)/.executorch: $(VENV)/.dependencies
	$(PIP) install -q $(PIP_FLAGS) -c constraints.txt executorch
	touch $@

check-archives: setup ## deploy the real archives of OSTINATO_ARCHIVES, as they are and in MXFP8
	$(BIN)/python -W ignore scripts/check_archives.py

check-killed: setup ## kill a deployment at 20 moments, and look at what is left
	$(BIN)/python scripts/check_killed.py

COUNT ?= 20000
SEED ?= 0
fuzz: setup ## random programs and damaged files by the thousand, and a minute of threads (COUNT, SEED)
	$(BIN)/python scripts/fuzz.py --count $(COUNT) --seed $(SEED)
	$(BIN)/python -W ignore -m tests.export.mutate $(COUNT) $(SEED)
	$(BIN)/python -m tests.accelerator.concurrency 60

lint: setup ## ruff, mypy and clang-format, all as checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CXX_FILES)

format: setup ## rewrite the sources as `make lint` wants them
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_FILES)

bench: setup ## time Ostinato beside eager torch and its peers
	$(BIN)/python -m benchmarks

bench-replay: setup $(VENV)/.peers ## the nine rows of inference beside every other runtime for the CPU
	$(BIN)/python -m benchmarks replay $(BENCH_FLAGS)

$(VENV)/.peers: $(VENV)/.dependencies
	$(PIP) install -q $(PIP_FLAGS) -c constraints.txt onnx onnxscript openvino
	touch $@

bench-train: setup ## training steps as graphs beside eager torch
	$(BIN)/python -m benchmarks train

bench-control-flow: setup ## loops and conditions in a graph beside eager torch
	$(BIN)/python -m benchmarks control_flow

bench-optim: setup ## optimizers beside torch's fused and foreach forms
	$(BIN)/python -m benchmarks optim

bench-mx: setup ## products with quantized weights, and conversions, beside float32
	$(BIN)/python -m benchmarks mx $(BENCH_FLAGS)

bench-mx-quality: setup ## accuracy and error of real models in each MX format
	$(BIN)/python -m benchmarks mx_quality

bench-eigh: setup ## eigenvalues and vectors beside torch.linalg.eigh
	$(BIN)/python -m benchmarks eigh $(BENCH_FLAGS)

bench-export: setup $(VENV)/.executorch ## files of quantized models: size, time and memory to load; and as .pte
	$(BIN)/python -m benchmarks export

docs: setup ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

errors: setup ## write docs/reference/errors.md from the tables of messages
	$(BIN)/python scripts/errors.py

dtypes: setup ## the same for dtypes.md, by trying every dtype in every place of a program (a minute)
	$(BIN)/python scripts/dtypes.py

lint-rules: setup ## the same for lint.md, from the table of rules
	$(BIN)/python scripts/lint_rules.py

operators: setup ## the same for operators.md, from PyTorch's operator samples (a minute)
	$(BIN)/python scripts/operators.py

doctor-table: setup ## check the doctor's table of facts, also against the package registry
	$(BIN)/python scripts/doctor_table.py --registry

clean: ## remove everything that a target made
	rm -rf $(VENV) build dist site demo
