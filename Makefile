# What can be done here; `make` alone lists it. Needs a Rust toolchain and a C compiler.

CARGO ?= cargo
XTASK = $(CARGO) run --quiet --locked -p xtask --
SANDBOX ?=
LOAD ?=
PROGRAM ?=

.DEFAULT_GOAL := help
.PHONY: help build optimized static deb rpm image run dashboard test test-fast check nightly simulate mutations nap flaky random soak soak-load bench bench-replication manual fuzz clean

help: ## this list
	@awk -F ' ## ' '/^[a-z-]+:.* ## / { sub(/:.*/, "", $$1); printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: dashboard ## the program, in release: target/release/pilotfish
	$(CARGO) build --release --locked

static: dashboard ## the same without shared libraries, for any Linux; takes musl-gcc and a target of Rust's
	@packaging/static.sh

optimized: dashboard ## the program with a tenth less CPU for a statement: target/optimized/pilotfish; builds twice, takes llvm-profdata (TARGET=x86_64-unknown-linux-musl: without shared libraries)
	@packaging/optimized.sh $(TARGET)

deb: $(if $(PROGRAM),,build) ## a Debian package of it: target/debian/pilotfish_VERSION-RELEASE_ARCHITECTURE.deb (PROGRAM=target/optimized/pilotfish: of that one)
	@packaging/deb.sh $(PROGRAM)

rpm: $(if $(PROGRAM),,static) ## an RPM package of the static program, in target/rpm; takes rpmbuild (PROGRAM=)
	@packaging/rpm.sh $(PROGRAM)

image: $(if $(PROGRAM),,static) ## a container image of the static program, in target/image; takes buildah (PROGRAM=)
	@packaging/image.sh $(PROGRAM)

run: dashboard ## a primary, two replicas and the proxy in front, until Ctrl-C (LOAD=1: with clients; SANDBOX="--replicas 1": its options)
	@$(CARGO) run --profile quick --locked -- sandbox $(if $(LOAD),--load) $(SANDBOX)

dashboard: ## the HTTP port's page, which goes into the program; left out where there is no Node
	@web/build.sh

test: ## what each change must pass, with servers: installs what the tests need, ends with a summary
	@.ci/steps test

test-fast: ## the tests that need no server
	@.ci/steps fast

check: ## format, lints, floors, limits of the structure, plain English in the texts, and that the manual's settings page is current
	@.ci/steps check

nightly: ## everything there is, in two hours at most; begun again it goes on where it was (FRESH=1: from the start)
	@e2e/nightly.sh $(if $(FRESH),--fresh)

simulate: ## worlds in one process under new seeds, for a minute (SEED=n: that world again, SECONDS=n, WORLD=name, OPERATIONS=n)
	$(CARGO) build --quiet --locked --profile simulation -p pilotfish-simulation
	target/simulation/pilotfish-simulation $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS)) \
		$(if $(WORLD),--world $(WORLD)) $(if $(OPERATIONS),--operations $(OPERATIONS))

mutations: ## puts faults into the proxy, one at a time: does the simulation find each?
	$(XTASK) mutations

flaky: ## repeats tests beside a load and says how often each fails (TESTS=pattern N=20)
	@$(XTASK) flaky '$(TESTS)' $(or $(N),20)

random: ## random sessions compared with direct ones, 100,000 statements (STATEMENTS=n), another seed each day (SEED=n)
	PILOTFISH_STATEMENTS=$(or $(STATEMENTS),100000) PILOTFISH_SEED=$(or $(SEED),$(shell date -u +%Y%m%d)) \
		$$($(XTASK) binary e2e) --nocapture random::

nap: ## the end-to-end tests while each process sleeps by chance before socket calls: shows timing faults (NAP_SEED=n, TESTS=pattern)
	NAP_SEED=$(NAP_SEED) nap/run.sh $(TESTS)

soak: ## sysbench, 64 threads, through each shipped script for a minute (SECONDS=n, SCRIPTS="a b+c": these alone; rw-splitting@cluster over replicas)
	PILOTFISH_SCRIPT_SECONDS=$(or $(SECONDS),60) $(if $(SCRIPTS),PILOTFISH_SCRIPTS='$(SCRIPTS)') \
		$$($(XTASK) binary e2e) --nocapture --test-threads=1 script_load::

bench: optimized ## the optimised program, other proxies and a direct connection compared; takes a quiet machine for an hour
	PILOTFISH_BIN=target/optimized/pilotfish target/release/pilotfish-bench run

soak-load: ## sysbench read-write, 512 threads, beside 500 idle and 8 slow sessions, half an hour for each family (SECONDS=n, WITHOUT=mysql)
	$(CARGO) build --release --locked -p pilotfish -p pilotfish-bench
	target/release/pilotfish-bench soak --seconds $(or $(SECONDS),1800) $(addprefix --without ,$(WITHOUT))

bench-replication: ## what replication costs, and ten minutes of kills in a chain of eight replicas (SECONDS=n); an hour
	$(CARGO) build --release --locked -p pilotfish -p pilotfish-bench
	target/release/pilotfish-bench replication
	PILOTFISH_CHAIN_SECONDS=$(or $(SECONDS),600) $$($(XTASK) binary e2e) --nocapture --test-threads=1 feeding::chain::

manual: ## the manual as HTML: docs/book/index.html
	@command -v mdbook >/dev/null || { echo 'needs mdBook: cargo install --locked mdbook' >&2; exit 1; }
	$(XTASK) settings
	mdbook build docs/manual

fuzz: ## each fuzz target for a minute (SECONDS=n)
	@fuzz/run.sh $(or $(SECONDS),60)

clean: ## forget all that was built
	$(CARGO) clean
	rm -rf docs/book web/dist web/node_modules web/packed/*
