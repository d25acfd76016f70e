# The short way in.  CMake does the work; CMakePresets.json names its build trees.
#
#   make            build/holdfast, build/libholdfast.a, build/libholdfast.so
#   make run        install what is missing, build, and see it work
#   make test       install what is missing, build three ways, run every test
#   make check      the quick part of it, for everyday work: under 90 seconds
#   make bench      measure a little        make bench-all         all stores and peers,
#                                           bench/README.md; ARGS='-s redis S1'
#                   make bench-zookeeper, -redis, -postgres, -mariadb, -sqlite   one store
#                                           make bench-page        all of docs/performance.md
#                                           make bench-compare     all stores, and a crash
#                                           make bench-death       a holder is killed
#                                           make bench-python      beside filelock, redis-py
#                                           make bench-node        beside redlock
#                                           make bench-start       `run` beside flock
#                                           make bench-web         the page, many locks
#   make cut        three servers: CUTS=50 cuts of the network, KILLS=10 of the leader
#   make chaos      faults at random on every store for CHAOS_MINUTES=20: test/chaos/README.md;
#                   half of the workers use an older Holdfast, built in build-older/
#   make peers      other locks, and ours, under the same faults: test/chaos/peers
#   make test-long  the tests that take chances or time, with many more rounds
#   make test-go    the tests of bindings/go, if Go is installed
#   make models     check the models of model/ with Spin: ARGS='queue broken'
#   make mutants    prove that the tests find bugs: 191, one after the other
#   make fuzz       look for bytes that break us: FUZZ_SECONDS=30 for each target
#   make install    DESTDIR=, PREFIX=/usr/local
#   make uninstall  with the same: removes what was installed, and no locks
#   make static     build-static/holdfast: one file that needs no other, without PostgreSQL;
#                   ARCH=arm64 cross-builds build-static-arm64/holdfast
#   make test-static  and try both in an empty chroot, that of arm64 under qemu
#   make wheel      a Python wheel with library and command inside, in build-wheel/
#   make test-wheel   and try it in a fresh venv
#   make image      an OCI image with the static command alone, in build-image/
#   make test-image   and run it
#   make site       the documentation as a site of plain files, in build-site/
#   make release    all of these and the archive in build-release/, with sums: RELEASING.md
#   make dist       the archive of the last commit, with its list and sums, in build-dist/
#   make test-dist  and try it as its users do
#   make deb        Debian packages of the tree as it stands, in build-deb/
#   make test-packages  these, and a clone, in fresh chroots: as root
#   make format     lay out the code        make lint     what reviewers look for, part of
#                                                         `make test`
#                                           make lint-all with clang's analyzer: minutes
#   make pictures   those of README and docs, anew: docs/pictures/
#   make abi        what changed for programs since the last tag
#   make clean      remove the build trees
PREFIX = /usr/local

all:
	@command -v cmake >/dev/null || { echo "cmake is missing: run tools/deps build" >&2; exit 1; }
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build --preset release

run:
	@tools/deps build
	@$(MAKE) --no-print-directory all
	@examples/demo.sh build/holdfast

# test/run runs the tests of unit, sqlite and cxx under ASan alone, so the first tree has only the others.
# Warnings are errors in what is tested, never in what users build: a newer compiler knows more.
test:
	@tools/deps build test
	@cmake --preset release -DHF_WERROR=ON >/dev/null
	@cmake --build --preset release --target all other-tests examples benches -- --quiet
	@test/run --make

# No server, no second build tree.
check:
	@tools/deps build test
	@cmake --preset release -DHF_WERROR=ON >/dev/null
	@cmake --build --preset release --target all tests -- --quiet
	@test/run -t build unit/ script/ sim/ 'on memory' 'on sqlite' \
	    check-format check-layers check-sizes check-docs

test-long:
	@tools/deps build test
	@$(MAKE) --no-print-directory all
	@cmake --preset asan >/dev/null
	@for tree in release asan; do \
	    cmake --build --preset $$tree --target all tests -- --quiet || exit 1; \
	done
	@HF_SIM_SCHEDULES=2000000 HF_CUTS=3 HF_KILLS=5 HF_TURNS=2000 HF_ZK_SECONDS=60 \
	    HF_ZK_MANY=10000 test/run -s 1800 sim/ interop/ zookeeper/

benches:
	@tools/deps build test bench
	@$(MAKE) --no-print-directory all
	@cmake --build --preset release --target benches

bench:
	@tools/deps build
	@$(MAKE) --no-print-directory all
	@cmake --build --preset release --target benches
	@bench/measure.py -s sqlite $(or $(ARGS),S1 S1+ S2:16 S3:2 S3:2@1 S3:16 S9:8)

bench-all: benches
	@bench/measure.py $(ARGS)

bench-page: benches
	@bench/page.py $(ARGS)
	@tools/check-pictures

bench-sqlite bench-zookeeper bench-redis bench-postgres bench-mariadb: bench-%: benches
	@bench/measure.py -s $* $(ARGS)

bench-compare: benches
	@bench/measure.py -s sqlite -s zookeeper -s redis -s postgres -s pgbouncer -s mariadb -d 0 \
	    $(or $(ARGS),S1 S3:8 S9:8)
	@bench/crash.py

bench-death: benches
	@bench/death.py

bench-web: benches
	@bench/web.py

bench-start: all
	@bench/start.py

bench-python: benches
	@bench/python.py

bench-node: all
	@bench/node.py

# Not part of `make test`: Go is 450 MB.
test-go: all
	@command -v go >/dev/null || { echo "go is missing: apt-get install golang-go" >&2; exit 1; }
	@cd bindings/go && HOLDFAST_COMMAND=$(CURDIR)/build/holdfast go vet . && \
	    HOLDFAST_COMMAND=$(CURDIR)/build/holdfast \
	    $(CURDIR)/test/server/redis.py standalone -- go test -count=1 -v .

CUTS  = 50
KILLS = 10

cut:
	@tools/deps build test
	@$(MAKE) --no-print-directory all
	@cmake --build --preset release --target test-zookeeper-holder
	@HF_CUTS=$(CUTS) HF_CUT_HOLDERS=3 test/zookeeper/partition.py a_follower_is_cut_off
	@HF_KILLS=$(KILLS) test/zookeeper/ensemble.py turns

CHAOS_MINUTES = 20

peers:
	@tools/deps build test bench
	@$(MAKE) --no-print-directory all
	@test/chaos/peers/run build $(ARGS)

chaos:
	@tools/deps build test
	@$(MAKE) --no-print-directory all
	@cmake --build --preset release --target test-chaos-worker -- --quiet
	@test/chaos/run build --older --minutes $(CHAOS_MINUTES) $(ARGS)

models:
	@tools/deps build models
	@model/run $(ARGS)

# The bugs of the core, found by simulation; then those of the stores, the client and the command.
mutants:
	@tools/deps build test
	@mkdir -p build-mutants
	@test/mutants/both

FUZZ_SECONDS = 30

fuzz:
	@tools/deps build test
	@cmake --preset fuzz >/dev/null
	@for folder in test/fuzz/*/; do \
	    target=$$(basename $$folder) && mkdir -p build-fuzz/corpus/$$target && \
	    cmake --build --preset fuzz --target test-fuzz-$$target -- --quiet && \
	    build-fuzz/test/fuzz/$$target -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 \
	        -artifact_prefix=build-fuzz/$$target- build-fuzz/corpus/$$target $$folder \
	        >build-fuzz/$$target.log 2>&1 || { tail -40 build-fuzz/$$target.log; exit 1; }; \
	    echo "$$target: $$(sed -n 's/^Done //p' build-fuzz/$$target.log), nothing found"; \
	done

install: all
	@DESTDIR="$(DESTDIR)" cmake --install build
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true # so that programs find it

uninstall: all
	@DESTDIR="$(DESTDIR)" tools/uninstall "$(PREFIX)"
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true

deb:
	@tools/deps build package
	@tools/deb

test-packages:
	@tools/deps build package chroot
	@tools/deb --check
	@tools/test-packages

ARCH = amd64

static:
	@tools/deps build static $(ARCH)
	@tools/static $(ARCH)

test-static: static
	@tools/deps test
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory static ARCH=arm64
	@test/run -t build static/

wheel:
	@tools/deps build wheel
	@tools/wheel

test-wheel: wheel
	@tools/deps test wheel
	@$(MAKE) --no-print-directory all
	@test/run -t build wheel/

image: static
	@tools/deps image
	@tools/image

test-image: image
	@$(MAKE) --no-print-directory all
	@test/run -t build image/

site:
	@tools/deps site
	@tools/site/make

release:
	@tools/deps build release wheel static amd64 arm64 image site
	@tools/release

dist:
	@tools/deps release
	@tools/dist

test-dist:
	@tools/deps build release
	@test/dist/archive.py build --build

format:
	clang-format -i $$(git ls-files '*.c' '*.h' '*.cpp' '*.hpp')

# `make test` runs these, too, beside tests that wait.  clang-tidy needs the headers that the
# build makes.
lint: all
	@for check in format shell layers sizes docs tidy; do tools/check-$$check || exit 1; done

lint-all: lint
	@tools/check-tidy --analyze

pictures:
	@tools/deps build pictures
	@$(MAKE) --no-print-directory all
	@tools/pictures/kill.py build/holdfast tools/pictures/kill.cast
	@tools/pictures/film.py tools/pictures/kill.cast docs/pictures/kill.svg
	@for name in guardian stores; do \
	    tools/pictures/draw.py tools/pictures/$$name.txt docs/pictures/$$name.svg || exit 1; \
	done
	@for file in tools/pictures/*.json; do [ ! -f "$$file" ] || \
	    tools/pictures/chart.py $$file docs/pictures/$$(basename $$file .json).svg || exit 1; \
	done
	@tools/pictures/web.py build docs/pictures/web.png
	@tools/check-pictures

abi:
	@tools/deps build release
	@tools/abi

clean:
	rm -rf build build-*

.PHONY: all release run test check test-long benches bench bench-all bench-page bench-sqlite bench-zookeeper \
        bench-redis bench-postgres bench-mariadb bench-compare bench-death bench-web bench-start bench-python bench-node \
        test-go chaos peers cut models mutants fuzz install uninstall static test-static wheel test-wheel image test-image site \
        dist test-dist deb test-packages format lint lint-all pictures abi clean
