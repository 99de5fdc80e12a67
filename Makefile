# jmpi: `make run` shows it at work, `make test` tests it, `make help` lists the rest.
SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.NOTPARALLEL:

PREFIX      ?= /usr/local
MPIRUN      ?= mpirun
PROGRAM     ?= bin/jmpi
PREFIXED     = $(DESTDIR)$(PREFIX)
# MPICH's compiler and launcher beside Open MPI, by Debian's names, and the tests of ranks that it must pass.
MPICH_MPICC   ?= mpicc.mpich
MPICH_MPIEXEC ?= mpiexec.hydra
MPICH_TESTS   := ^Test(MPI($$|Abort|Signals|KilledRank|StoppedRank|SuspendedJob|Probe)|GoModule$$)
GO          := scripts/mpiflags.sh go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ERRCHECK    := github.com/kisielk/errcheck@v1.30.0

# Where sudo and login shells forget it.
export PATH := $(PATH):/usr/local/go/bin
# Open MPI 4 and 5: run as root, start more ranks than there are cores.
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
export OMPI_MCA_rmaps_base_oversubscribe := 1
export PRTE_MCA_rmaps_default_mapping_policy := :oversubscribe

.PHONY: run build test test-race test-mpi test-mpich test-signals test-kills test-damaged test-gpu test-python wheel bench \
	golden vet lint setup man install uninstall clean help

run: build ## decompose a 1024×1024 matrix on 4 MPI ranks and check the result
	mkdir -p .build/run && bin/jmpi gen gauss -o .build/run/gauss.npy --shape 1024x1024 --seed 1
	$(MPIRUN) -np 4 bin/jmpi svd .build/run/gauss.npy -o .build/run/gauss.svd --force --check
	bin/jmpi check .build/run/gauss.npy .build/run/gauss.svd

build: setup ## build bin/jmpi
	$(GO) build -buildvcs=$$(git rev-parse HEAD >/dev/null 2>&1 && echo true || echo false) \
		-o bin/jmpi ./cmd/jmpi

test: setup vet ## vet, then all Go tests, those under mpirun included
	scripts/test.sh -vet=off ./...

test-race: setup ## the race detector over what runs on several goroutines, without the long tests
	scripts/test.sh -race -short -vet=off ./node ./dist/...

test-mpi: build ## end-to-end tests of the program on 1 to 5 MPI ranks
	scripts/test-mpi.sh

test-mpich: build ## the same, in short, of another program that is linked with MPICH; 3 minutes
	scripts/setup.sh mpich
	MPICC=$(MPICH_MPICC) $(GO) build -buildvcs=false -o bin/jmpi-mpich ./cmd/jmpi
	MPICH_MPIEXEC=$(MPICH_MPIEXEC) MPIRUN=$(MPIRUN) scripts/test-mpich.sh
	MPICC=$(MPICH_MPICC) MPIRUN=$(MPICH_MPIEXEC) scripts/test.sh -run '$(MPICH_TESTS)' ./dist/comm ./cmd/jmpi

test-signals: setup ## every signal in every phase of every command, 15 minutes; `make test` sends some
	JMPI_TEST_SIGNALS=all $(GO) test ./cmd/jmpi -run '^TestSignals$$' -v -count=1 -timeout 60m

test-kills: setup ## kill runs and let them go on, 50 times (KILLS=50), 15 minutes; `make test` kills some
	JMPI_TEST_KILLS=$(or $(KILLS),50) $(GO) test ./cmd/jmpi -run '^TestKills$$' -v -count=1 \
		-timeout 90m

test-damaged: setup ## damaged files, new ones in each of 20 rounds (ROUNDS=20), 20 minutes
	JMPI_TEST_SEED=clock $(GO) test ./cmd/jmpi ./dist/checkpoint -run '^TestDamaged(Files|HDF5)$$' -v \
		-count=$(or $(ROUNDS),20) -timeout 90m

test-gpu: ## tests on GPUs; scripts/test-gpu.sh runs them on a node without Go
	scripts/test-gpu.sh build
	scripts/test-gpu.sh run

test-python: build ## the Python package, made into a wheel, against NumPy; Octave reads results where it is there
	scripts/setup.sh python
	$(MAKE) wheel
	rm -rf .build/python
	$$(scripts/setup.sh which-python) -m pip install -q --no-deps --target .build/python bin/jmpi-*.whl
	cd .build/python && PYTHONDONTWRITEBYTECODE=1 $$($(CURDIR)/scripts/setup.sh which-python) -m pytest \
		-c $(CURDIR)/python/pyproject.toml --rootdir $(CURDIR)/python $(CURDIR)/python/tests

wheel: ## the Python package, bin/jmpi-VERSION-py3-none-any.whl
	@scripts/setup.sh wheel
	rm -rf bin/jmpi-*.whl
	$$(scripts/setup.sh which-wheel) -m pip wheel -q --no-deps --no-build-isolation -w bin ./python
	rm -rf python/build python/jmpi.egg-info

bench: build ## timings on 2 ranks beside LAPACK and ScaLAPACK, in the same run
	scripts/setup.sh bench
	$(MPIRUN) -np 2 bin/jmpi bench --vs lapack,scalapack

golden: setup ## regenerate the golden tables and plans, then show what changed
	$(GO) test ./strategy ./topology -run Golden -update
	git status --short -- strategy topology

vet: setup ## gofmt and go vet; strategy, topology and kernels without cgo too
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt -w $$unformatted"; exit 1; }
	$(GO) vet ./...
	CGO_ENABLED=0 go vet ./strategy ./topology ./kernels

lint: vet ## vet, then staticcheck, errcheck, and shellcheck where it is
	$(GO) run $(STATICCHECK) ./...
	$(GO) run $(ERRCHECK) -exclude scripts/errcheck.txt ./...
	@command -v shellcheck >/dev/null || { echo "skipped: shellcheck is not installed"; exit 0; }; \
		shellcheck -x examples/*.sh examples/*.sbatch scripts/cluster.sh scripts/test-cluster.sh scripts/test-mpich.sh

setup: ## install what is missing on Debian and Ubuntu, elsewhere say how
	@scripts/setup.sh

man: build ## write the man pages into .build/man
	$(PROGRAM) man .build/man

install: ## install jmpi, man pages and shell completion under PREFIX (/usr/local), below DESTDIR
	@test -x "$(PROGRAM)" || $(MAKE) build
	@umask 022; mkdir -p "$(PREFIXED)"/{bin,share/bash-completion/completions} \
		"$(PREFIXED)"/share/{zsh/site-functions,fish/vendor_completions.d}; \
	install -m 755 "$(PROGRAM)" "$(PREFIXED)/bin/jmpi"; \
	"$(PROGRAM)" man "$(PREFIXED)/share/man/man1"; \
	"$(PROGRAM)" completion bash >"$(PREFIXED)/share/bash-completion/completions/jmpi"; \
	"$(PROGRAM)" completion zsh >"$(PREFIXED)/share/zsh/site-functions/_jmpi"; \
	"$(PROGRAM)" completion fish >"$(PREFIXED)/share/fish/vendor_completions.d/jmpi.fish"

uninstall: ## remove what `make install` has put under PREFIX
	rm -f "$(PREFIXED)"/bin/jmpi "$(PREFIXED)"/share/man/man1/jmpi{,-*}.1 \
		"$(PREFIXED)"/share/{bash-completion/completions/jmpi,zsh/site-functions/_jmpi} \
		"$(PREFIXED)"/share/fish/vendor_completions.d/jmpi.fish

clean: ## remove what was built
	rm -rf bin .build

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
