# Everything a newcomer needs: `make demo` shows what polyak does, `make test` the tests.
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check -q
CORE_FILES := $(wildcard $(addprefix core/,*/*.cpp */*.hpp */*/*.cpp */*/*.hpp))
CORE := $(CORE_FILES) CMakeLists.txt pyproject.toml
RIVALS := $(wildcard reproduction/rivals/*.cpp)
SCALAR := -C cmake.define.POLYAK_SCALAR=ON
# setuptools: LIBLINEAR, a peer of the benchmarks, comes as source where there is no wheel.
BUILD_TOOLS := "scikit-build-core>=0.10" "nanobind>=2.4" "cmake>=3.18" "ninja>=1.11" "setuptools>=70.1"

# Tests that start clusters want the machine to themselves.
CLUSTERS := tests/distributed tests/matrix/test_matrix_on_dask.py

.PHONY: install demo test test-base test-slow test-all coverage lint bench bench-quick docs dist asan tsan fuzz neon clean \
  fuzz-svmlight fuzz-vw fuzz-csv fuzz-loaders reproduce reproduce-quick reproduce-test

install: $(VENV)/.installed
demo: $(VENV)/.installed-tables
	$(PY) examples/demo.py
	@echo; $(PY) -m reproduction.demo
# Units, contracts and one example of each promise; then, in test-slow, kills, clusters, real data,
# a browser, all of scikit-learn's checks and the matrix of sources and ways.
PYTEST_ARGS := -m pytest -n auto --maxprocesses 4 --dist worksteal
PYTEST := $(PY) $(PYTEST_ARGS)
test: $(VENV)/.installed-test
	$(PYTEST)
# The estimators with the required dependencies alone: a test that needs an extra skips itself.
test-base: .venv-base/.installed
	.venv-base/bin/python $(PYTEST_ARGS) tests/estimators
test-slow: $(VENV)/.installed-test
	$(PYTEST) -m slow $(patsubst %,--ignore=%,$(CLUSTERS))
	$(PY) -m pytest -m slow $(CLUSTERS)
test-all: test test-slow reproduce-test
coverage: $(VENV)/.installed-test
	$(PYTEST) -m "slow or not slow" --cov=polyak --cov-report=term:skip-covered
# The paper's experiments: `make reproduce` continues where it was stopped; the quick run has smaller
# sizes, which leave many sentences open. Each writes a report.html.
reproduce: $(VENV)/.installed-reproduce $(VENV)/.rivals
	$(PY) -m reproduction
reproduce-quick: $(VENV)/.installed-reproduce $(VENV)/.rivals
	$(PY) -m reproduction --out build/reproduction-quick --quick
reproduce-test: $(VENV)/.installed-test $(VENV)/.installed-reproduce $(VENV)/.rivals
	$(PYTEST) reproduction
bench: $(VENV)/.installed-bench $(VENV)/.rivals
	$(PY) -m benchmarks
bench-quick: $(VENV)/.installed-bench $(VENV)/.rivals
	$(PY) -m benchmarks --quick
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --site-dir build/site
	@echo "open build/site/index.html, or with search: python3 -m http.server -d build/site"
dist: $(VENV)/.installed-dist
	rm -rf dist
	$(PY) -m build
	$(PY) -m twine check --strict dist/*
	$(VENV)/bin/check-wheel-contents dist/*.whl
lint: $(VENV)/.installed-lint
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/clang-format --dry-run --Werror $(CORE_FILES) $(RIVALS) $(wildcard fuzz/*.cpp benchmarks/peers/*.cpp)

$(VENV)/.tools:
	python3 -m venv $(VENV)
	$(PIP) install --upgrade $(BUILD_TOOLS)
	@touch $@
# The package is installed in editable form: Python changes need nothing, core changes rebuild.
$(VENV)/.installed: $(VENV)/.tools $(CORE)
	$(PIP) install --no-build-isolation -e .
	@touch $@
$(VENV)/.installed-%: $(VENV)/.installed
	$(PIP) install --no-build-isolation -e ".[$*]"
	@touch $@
.venv-base/.installed: $(CORE)
	test -d .venv-base || python3 -m venv .venv-base
	.venv-base/bin/python -m pip -q install --upgrade $(BUILD_TOOLS) "pytest>=8" "pytest-xdist>=3.5" \
	  "hypothesis>=6.100"
	.venv-base/bin/python -m pip -q install --no-build-isolation -C build-dir=build/base -e .
	@touch $@
# The compiled loops of the paper's rivals, which the package does not contain.
$(VENV)/.rivals: $(VENV)/.tools $(RIVALS) reproduction/CMakeLists.txt
	$(VENV)/bin/cmake -S reproduction -B build/rivals -G Ninja --log-level=WARNING \
	  -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(VENV)/bin/ninja -DPython_EXECUTABLE=$(CURDIR)/$(PY)
	$(VENV)/bin/cmake --build build/rivals
	@touch $@
# Tests compare the kernels with a build of them without SIMD, which only they need.
$(VENV)/.installed-test: $(VENV)/.installed
	$(PIP) install --no-build-isolation $(SCALAR) -e ".[test]"
	@touch $@
# Where atheris comes as source, as on ARM, it is built by pybind11.
$(VENV)/.installed-fuzz: $(VENV)/.installed
	$(PIP) install "pybind11>=2.12"
	$(PIP) install --no-build-isolation -e ".[fuzz]"
	@touch $@

# The core's tests against a core built with the sanitizers, in an environment of its own. Nothing is
# captured: what a sanitizer says as it ends the process would be lost.
asan: .venv-asan/.installed
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  .venv-asan/bin/python -m pytest --capture=no tests/core tests/data
.venv-asan/.installed: $(CORE)
	test -d .venv-asan || python3 -m venv .venv-asan
	.venv-asan/bin/python -m pip -q install --upgrade $(BUILD_TOOLS)
	.venv-asan/bin/python -m pip -q install --no-build-isolation -C cmake.define.POLYAK_SANITIZE=ON $(SCALAR) \
	  -C build-dir=build/asan -e ".[test]"
	@touch $@

# The tests with threads against a core that watches for two of them in one place. Python and NumPy
# are not watched; fuzz/tsan.txt says what is passed over, and why.
tsan: .venv-tsan/.installed
	LD_PRELOAD="$$(g++ -print-file-name=libtsan.so)" TSAN_OPTIONS="suppressions=fuzz/tsan.txt exitcode=66" \
	  .venv-tsan/bin/python -m pytest -p no:cacheprovider --capture=no tests/core/bank/test_threads.py \
	  tests/estimators/test_while_learning.py tests/data/test_readahead.py tests/data/test_text_files.py
.venv-tsan/.installed: $(CORE)
	test -d .venv-tsan || python3 -m venv .venv-tsan
	.venv-tsan/bin/python -m pip -q install --upgrade $(BUILD_TOOLS)
	.venv-tsan/bin/python -m pip -q install --no-build-isolation -C cmake.define.POLYAK_SANITIZE=thread \
	  -C build-dir=build/tsan -e ".[test]"
	@touch $@

# Coverage-guided fuzzing: the parsers under the sanitizers, then the readers of our own files.
# Needs clang with its runtime (Debian: clang libclang-rt-14-dev); `make fuzz FUZZ_SECONDS=600`.
FUZZ_SECONDS ?= 30
FUZZ_OPTIONS = -max_total_time=$(FUZZ_SECONDS) -verbosity=0 -print_final_stats=1
fuzz: fuzz-svmlight fuzz-vw fuzz-csv fuzz-loaders
fuzz-svmlight fuzz-vw fuzz-csv: fuzz-%: build/fuzz-%
	build/$@ -max_len=400 -dict=fuzz/$*.dict $(FUZZ_OPTIONS)
fuzz-loaders: $(VENV)/.installed-fuzz
	$(PY) fuzz/loaders.py $(FUZZ_OPTIONS)
FUZZ_BUILD = clang++ -std=c++17 -I$(CURDIR)/core -g -O1 -fsanitize=fuzzer,address,undefined
build/fuzz-%: fuzz/%.cpp $(CORE_FILES)
	@mkdir -p build
	$(FUZZ_BUILD) $< $(wildcard core/text/$*.cpp core/table/$*_columns.cpp) -o $@

# Builds of the kernels as objects in the folder $@-kernels: $(call compile_kernels,compiler,builds),
# or of some sources: $(call compile_kernels,compiler,builds,sources). The scalar build is the one
# that the others are compared with.
KERNEL_SOURCES := $(addprefix $(CURDIR)/core/,kernels/kernel_table.cpp learn/row_kernels.cpp \
  learn/newton/block_kernels.cpp text/simd/parse4.cpp)
FLAGS_scalar := -DPOLYAK_SCALAR -O1
FLAGS_avx2 := -mavx2 -mfma -mbmi
compile_kernels = $(foreach build,$(2),mkdir -p $@-kernels/$(build) && (cd $@-kernels/$(build) && \
  $(1) -c -DPOLYAK_KERNELS=$(build) $(FLAGS_$(build)) $(or $(3),$(KERNEL_SOURCES))) &&) true
CHOICE := core/kernels/kernel_choice.cpp
BUILDS := portable scalar
HAS := -DPOLYAK_HAS_SCALAR
ifeq ($(shell uname -m),x86_64)
BUILDS += avx2
HAS += -DPOLYAK_HAS_AVX2
endif
# The sanitizers watch the parser's kernels alone: with all of them the build takes two minutes.
build/fuzz-svmlight: fuzz/svmlight.cpp $(CORE_FILES)
	$(call compile_kernels,clang++ -std=c++17 -I$(CURDIR)/core -O1,$(BUILDS))
	$(call compile_kernels,$(FUZZ_BUILD),$(BUILDS),$(CURDIR)/core/text/simd/parse4.cpp)
	$(FUZZ_BUILD) $(HAS) $< core/text/svmlight.cpp $(CHOICE) $@-kernels/*/*.o -o $@

# Compares 64-bit ARM, under qemu, with this x86-64 machine: the svmlight parser must give the same
# bits, and on each of them the kernels must read and learn with SIMD what they do without it. `make
# neon FILES=my.svm` adds real text. Needs Debian's g++-aarch64-linux-gnu and qemu-user.
NEON_BUILD = -std=c++17 -I$(CURDIR)/core -O2 -Wall -Wextra -Wno-psabi
ARM_BUILD = aarch64-linux-gnu-g++ $(NEON_BUILD)
neon: build/same-here build/same-on-arm build/learns-the-same-on-arm
	build/same-here $(FILES) >build/same-here.txt
	qemu-aarch64 build/same-on-arm $(FILES) >build/same-on-arm.txt
	diff build/same-here.txt build/same-on-arm.txt
	@cat build/same-on-arm.txt
	qemu-aarch64 build/learns-the-same-on-arm
build/same-here: fuzz/same_on_arm.cpp $(CORE_FILES)
	$(call compile_kernels,g++ $(NEON_BUILD),$(BUILDS))
	g++ $(NEON_BUILD) $(HAS) $< core/text/svmlight.cpp $(CHOICE) $@-kernels/*/*.o -o $@
build/same-on-arm: fuzz/same_on_arm.cpp $(CORE_FILES)
	$(call compile_kernels,$(ARM_BUILD),portable scalar)
	$(ARM_BUILD) -static -DPOLYAK_HAS_SCALAR $< core/text/svmlight.cpp $(CHOICE) $@-kernels/*/*.o -o $@
build/learns-the-same-on-arm: fuzz/learns_the_same.cpp $(CORE_FILES)
	$(call compile_kernels,$(ARM_BUILD),portable scalar)
	$(ARM_BUILD) -static -DPOLYAK_HAS_SCALAR $< $(CHOICE) $@-kernels/*/*.o -o $@

clean:
	rm -rf $(VENV) .venv-base .venv-asan .venv-tsan build dist
