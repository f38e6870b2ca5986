# Every target installs the Debian packages it needs (as root or through sudo) and works from a fresh clone.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 5
SANITIZERS ?= asan-ubsan tsan
SHARD ?= 1/1
TORCH ?=
PYTHON ?= /usr/bin/python3
TARGET ?=
MUTANTS ?= 10
SEED ?= 0

# By command, not by package: where npm or a browser came by another route, Debian's packages may conflict with it.
NODE_PACKAGES := $(if $(shell command -v npm 2>/dev/null),,nodejs npm)
BROWSER_PACKAGES := $(if $(shell command -v chromium 2>/dev/null),,chromium)
LIBRARY_PACKAGES := build-essential cmake ninja-build ccache pkg-config libtbb-dev libopenblas-dev libhwy-dev \
  libcli11-dev libfmt-dev nlohmann-json3-dev libfast-float-dev zlib1g-dev libre2-dev libxxhash-dev libeigen3-dev libboost-dev \
  $(if $(TORCH),libtorch-dev)
BUILD_PACKAGES := $(LIBRARY_PACKAGES) $(NODE_PACKAGES)
# Of Debian's own Python; another one (PYTHON=) brings its own.
PYTHON_PACKAGES := pybind11-dev $(if $(filter /usr/bin/python3,$(PYTHON)),python3-dev python3-numpy python3-pip python3-setuptools python3-wheel python3-venv)
PYTHON_TEST_PACKAGES := $(PYTHON_PACKAGES) $(if $(filter /usr/bin/python3,$(PYTHON)),python3-pytest python3-scipy python3-sklearn python3-pandas \
  python3-torch python3-matplotlib mypy)
TEST_PACKAGES := $(BUILD_PACKAGES) $(PYTHON_TEST_PACKAGES) libgtest-dev librapidcheck-dev liblbfgs-dev gnuplot-nox libopenmpi-dev openmpi-bin libmpich-dev mpich $(BROWSER_PACKAGES)
FUZZ_PACKAGES := $(LIBRARY_PACKAGES) clang libclang-rt-14-dev
DEMO_PACKAGES := $(BUILD_PACKAGES) dict-gcide
BENCH_PACKAGES := $(BUILD_PACKAGES) $(PYTHON_PACKAGES) dataset-fashion-mnist python3-sklearn fasttext python3-torch openssl libopenmpi-dev openmpi-bin
LINT_PACKAGES := $(LIBRARY_PACKAGES) clang-format clang-tidy

# $(call packages,LIST): installs those of LIST that are missing; says nothing and asks nothing when there are none.
define packages
@missing=$$(for p in $(1); do [ "$$(dpkg-query -W -f '$${Status}' $$p 2>/dev/null)" = "install ok installed" ] || echo $$p; done); \
if [ -n "$$missing" ]; then \
  root=""; [ "$$(id -u)" = 0 ] || root="sudo"; \
  echo "installing:" $$missing; \
  $$root env DEBIAN_FRONTEND=noninteractive apt-get update -q && \
  $$root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $$missing; \
fi
endef

.PHONY: help build test python wheel demo bench reproduce install deb lint format sanitize mutants fuzz gpu gpu-test clean

# CUDA's compiler, where it is: then the module for GPUs is built with the program.
NVCC := $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
GPU_OPTION := $(if $(NVCC),-DSELFNORM_BUILD_CUDA=ON)

help: ## this list
	@echo "selfnorm: probability models whose raw scores are already log-probabilities"; echo
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1 /' | while read -r name text; do printf '  make %-9s %s\n' "$$name" "$$text"; done
	@echo; echo "TORCH=1 with build, install, test or sanitize installs libtorch too (some 150 packages), for TorchScript energies; without it they say so"

build: ## the program, build/release/selfnorm
	$(call packages,$(BUILD_PACKAGES))
	cmake --preset release -DSELFNORM_BUILD_TESTS=OFF $(GPU_OPTION)
	cmake --build --preset release -j $(JOBS)

test: ## everything that must hold: unit, property and end-to-end tests, the reports in a browser, include ladder, a short fuzz run
	$(call packages,$(TEST_PACKAGES) $(FUZZ_PACKAGES))
	cmake --preset release -DSELFNORM_BUILD_TESTS=ON -DPYTHON=$(PYTHON)
	cmake --build --preset release -j $(JOBS)
	ctest --preset release -j $(JOBS)
	tests/ladder.sh
	$(MAKE) fuzz

python: ## the Python package, into the virtual environment PYTHON=venv/bin/python, or into the folder TARGET=DIR (default build/site)
	$(call packages,$(LIBRARY_PACKAGES) $(PYTHON_PACKAGES))
	$(PYTHON) -c "import numpy, setuptools, wheel" 2> /dev/null || $(PYTHON) -m pip install "numpy>=1.24" "setuptools>=61" wheel
	$(PYTHON) -m pip install --no-build-isolation --no-deps --upgrade $(if $(filter /usr/bin/python3,$(PYTHON))$(TARGET),--target $(or $(TARGET),build/site)) .
	@echo "import selfnorm works with $(if $(filter /usr/bin/python3,$(PYTHON))$(TARGET),PYTHONPATH=$(or $(TARGET),build/site) )$(PYTHON)"

wheel: ## a wheel in build/wheel that needs no installed selfnorm
	$(call packages,$(LIBRARY_PACKAGES) $(PYTHON_PACKAGES))
	$(PYTHON) -m pip wheel --no-build-isolation --no-deps --wheel-dir build/wheel .

demo: ## a self-normalised language model on the dictionary gcide, raw against exact (a minute after the build)
	$(call packages,$(DEMO_PACKAGES))
	cmake --preset release -DSELFNORM_BUILD_TESTS=OFF
	cmake --build --preset release -j $(JOBS) --target selfnorm_program
	examples/demo.sh build/release/selfnorm

bench: ## speed against OpenBLAS, scikit-learn, fastText, CRFsuite and PyTorch, as ratios
	$(call packages,$(BENCH_PACKAGES))
	cmake --preset bench
	cmake --build --preset bench -j $(JOBS)
	bench/run.sh

reproduce: ## the papers' figures, and docs/reproduction.md with what was measured (about 3 minutes)
	$(call packages,$(BUILD_PACKAGES) gnuplot-nox)
	cmake --preset release -DSELFNORM_BUILD_TESTS=OFF
	cmake --build --preset release -j $(JOBS) --target selfnorm_program
	build/release/selfnorm reproduce all --out docs/reproduction --document docs/reproduction.md

install: build ## into PREFIX (default /usr/local)
	cmake --install build/release --prefix $(PREFIX)

deb: build ## Debian packages in build/deb: selfnorm, libselfnorm-runtime, libselfnorm-dev
	$(call packages,dpkg-dev file)
	cd build/release && cpack -G DEB -B ../deb

lint: ## formatting and static checks
	$(call packages,$(LINT_PACKAGES))
	git ls-files '*.h' '*.cc' '*.c' | xargs clang-format --dry-run --Werror
	cmake --preset release -B build/lint -DSELFNORM_BUILD_TESTS=OFF
	sed -n 's/^ *"file": "\(.*\.c[cx]x*\)".*/\1/p' build/lint/compile_commands.json | sort -u | \
	  xargs -P $(JOBS) -n 1 clang-tidy --quiet -p build/lint --extra-arg=-Wno-unknown-warning-option

format: ## rewrite the sources in the project's format
	$(call packages,$(LINT_PACKAGES))
	git ls-files '*.h' '*.cc' '*.c' | xargs clang-format -i

sanitize: ## all tests under ASan+UBSan and under TSan; SHARD=2/4 runs the second of four parts, SANITIZERS=tsan one kind
	$(call packages,$(TEST_PACKAGES) $(FUZZ_PACKAGES))
	for preset in $(SANITIZERS); do start=$$SECONDS; \
	  cmake --preset $$preset && cmake --build --preset $$preset -j $(JOBS) && built=$$SECONDS && \
	  ctest --preset $$preset -j $(JOBS) -I $(firstword $(subst /, ,$(SHARD))),,$(lastword $(subst /, ,$(SHARD))) || exit 1; \
	  echo "$$preset, shard $(SHARD): built in $$(((built - start) / 60)) minutes, tested in $$(((SECONDS - built) / 60))"; \
	done

mutants: ## whether the tests notice when the numerical code is changed: MUTANTS=10 changes drawn by SEED=0
	$(call packages,$(TEST_PACKAGES) python3)
	tests/mutants.py $(MUTANTS) $(SEED)

fuzz: ## every reader and the model file, a few seconds each (FUZZ_SECONDS)
	$(call packages,$(FUZZ_PACKAGES))
	cmake --preset fuzz
	cmake --build --preset fuzz --target fuzz_programs -j $(JOBS)
	fuzz/run.sh $(FUZZ_SECONDS)

gpu: ## the module for NVIDIA GPUs alone, build/gpu/libselfnorm_cuda.so (needs nvcc and nothing else)
	src/gpu/build.sh build/gpu

gpu-test: gpu ## every kernel against the CPU, on this machine's GPU (needs nvcc, g++ and a GPU)
	$(CXX) -std=c++20 -O2 -Isrc tests/gpu/device/gpu_test.cc src/gpu/head_reference.cc build/gpu/libselfnorm_cuda.so \
	  -Wl,-rpath,$(CURDIR)/build/gpu -Wl,--allow-shlib-undefined -o build/gpu/gpu_test
	build/gpu/gpu_test
	$(CXX) -std=c++20 -O2 -Isrc tests/gpu/device/classes_test.cc src/gpu/classes_reference.cc build/gpu/libselfnorm_cuda.so \
	  -Wl,-rpath,$(CURDIR)/build/gpu -Wl,--allow-shlib-undefined -o build/gpu/classes_test
	build/gpu/classes_test
	$(CXX) -std=c++20 -O2 -Isrc tests/gpu/device/energy_test.cc src/gpu/energy_reference.cc build/gpu/libselfnorm_cuda.so \
	  -Wl,-rpath,$(CURDIR)/build/gpu -Wl,--allow-shlib-undefined -o build/gpu/energy_test
	build/gpu/energy_test
	$(CXX) -std=c++20 -O2 -Isrc tests/gpu/device/regressor_test.cc src/gpu/regressor_reference.cc build/gpu/libselfnorm_cuda.so \
	  -Wl,-rpath,$(CURDIR)/build/gpu -Wl,--allow-shlib-undefined -o build/gpu/regressor_test
	build/gpu/regressor_test
	if python3 -c "import torch" 2>/dev/null; then SELFNORM_CUDA_MODULE=build/gpu/libselfnorm_cuda.so python3 tests/gpu/device/torch_test.py; else echo "torch is not installed: its test is skipped"; fi

clean: ## remove the build folders
	rm -rf build report/node_modules
