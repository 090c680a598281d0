# The commands of this project. `make help` lists them; PROFILE=dev makes the measurements use a debug build.
PROFILE ?= release
JOBS ?= $(shell nproc)
PYTHON := PYTHONPATH=test target/venv/bin/python -W error::SyntaxWarning
export AITMLIR_BIN := target/$(if $(filter dev,$(PROFILE)),debug,release)

.DEFAULT_GOAL := help
.PHONY: help build demo test lint docs conformance real-models bad-input facts sim agree-bundle agree gpu-bundle

help: ## List the commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24

build: ## Build the tools into target/release (PROFILE=dev: target/debug)
	@scripts/setup build
	cargo build --workspace --bins --profile $(PROFILE)

demo: ## Compile a real model for this machine's CPU and run it on files of this repository
	@scripts/setup demo
	cargo build -p aitmlir-driver --bins --profile $(PROFILE)
	examples/magika/run

test: ## All that CI runs: format, lints, unit and FileCheck tests, docs, conformance
	@scripts/setup test
	@scripts/test

lint: ## Format check and clippy
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

docs: ## Write the generated references in docs/ again
	@scripts/docs

conformance: ## The official ONNX backend suite (ARGS="--filter=test_conv", ARGS=--bless)
	@scripts/setup test
	cargo build -p aitmlir-driver --bins --profile $(PROFILE)
	@$(PYTHON) -m conformance -j $(JOBS) $(ARGS)

real-models: ## Real models against ONNX Runtime: numbers and time (ARGS="--filter=magika")
	@scripts/setup models
	cargo build -p aitmlir-driver --bins --profile $(PROFILE)
	@$(PYTHON) -m models $(ARGS)

bad-input: ## Damaged files, wrong tensors, full disks: each must end in one clear error
	@scripts/setup demo
	cargo build -p aitmlir-driver --bins --profile $(PROFILE)
	@$(PYTHON) -m bad_input -j $(JOBS) $(ARGS)

facts: ## The layout algebra against the facts of the open CuTe IR
	cargo run -q -p cute-layout --example facts

sim: ## The PTX simulator: its kernels, planted faults and speed
	cargo run -q --release -p ptx-sim --bin sim-report

agree-bundle: ## Kernels of one instruction each, and those of nvcc and Triton, for a GPU machine, in target/agree-bundle
	@mkdir -p target/agree-bundle/compilers
	python3 test/gpu/agree/ops.py target/agree-bundle/agree
	@cp test/gpu/agree/device.py test/gpu/agree/fill.py test/gpu/agree/run target/agree-bundle/
	@cp -r runtime/sim/tests/compilers/manifest.json runtime/sim/tests/compilers/ptx target/agree-bundle/compilers/
	@echo "copy target/agree-bundle to a GPU machine with Python 3 and numpy, start ./run there, and copy its folder out/ back"

agree: ## The simulator against what a GPU wrote (target/agree-bundle/out): target/report/agree.json
	cargo run -q -p ptx-sim --bin sim-agree -- target/agree-bundle/agree/manifest.json target/agree-bundle/out/agree

gpu-bundle: ## Kernels, checks and timings for a GPU machine, in target/gpu-bundle (no GPU is needed here; ARGS="--filter=f16")
	@scripts/setup test
	cargo build -p aitmlir-driver --bins --profile $(PROFILE)
	cargo run -q -p aitmlir-lowering --example gpu-bundle -- target/gpu-bundle
	cargo run -q -p aitmlir-lowering --example group-bundle -- target/gpu-bundle/groups
	cargo run -q -p aitmlir-lowering --example experts-bundle -- target/gpu-bundle/experts
	@cp test/gpu/*.py test/gpu/run target/gpu-bundle/
	PATH="$$PWD/target/tools/nvidia-cuda-nvcc/nvidia/cu13/bin:$$PATH" $(PYTHON) test/gpu/cells.py target/gpu-bundle/cells $(AITMLIR_BIN)/aitmlir-compile -j $(JOBS) $(ARGS)
	@echo "copy target/gpu-bundle to a GPU machine with Python 3 and torch, and start ./run there"
