# Nothing here needs more than Go and make, but for platforms, which see make tools, and bench-peers.

FUZZTIME ?= 60s
# All fuzz tests, wherever they are.
FUZZ ?= $(shell grep -rhoE --include='*_test.go' '^func Fuzz[A-Za-z0-9]+' . | cut -d' ' -f2 | sort)
# BENCH=regexp selects benchmarks, as for go test, for bench and bench-full. ROW=regexp selects rows of the other
# comparisons. Selected ones go to results/selection.txt.
BENCH ?=
ROW ?=

# What bench leaves to bench-reread, and to bench-full, which takes many times as long.
REREAD := Reread|OpenMemory
BENCH_SKIP := $(REREAD)|/size=(10KB|100KB|2MB|10MB|500MB|1GB)$$|/goroutines=4|/state=first|/block=1MB|ReadOneCall|Zeros|ToDiscard
BENCH_SKIP := $(BENCH_SKIP)|Policy/state=(random-64B-1GB|once|rewrite|fresh|sparse|allocated|halves|written-back|sync-(rewrite|[12]0000))
# And what compare does too: it is for calls, and the disk has its own moods.
COMPARE_SKIP := $(BENCH_SKIP)|Policy|/state=cold|Sync|TCP
# For bench-compare: the commits. HEAD may be empty, for what stands here.
BASE ?= main
HEAD ?=
# It builds in silence, which takes a while the first time.
benchdata = echo 'building benchdata' >&2; go -C benchdata run .
select = $(if $($(1)),-row '$($(1))')

# Tools are built into here, for the machine that make runs on.
BIN := $(CURDIR)/bin

# Each is a target of its own.
PLATFORMS := $(shell sed -n 's/^\([a-z][^ ]*\) .*/\1/p' platforms/targets)

.PHONY: help test race eager fuzz fuzz-names foreign kills platforms tools $(PLATFORMS) cross lint apidiff release \
	vulncheck cover crashes replacements simulate bench bench-full bench-compare bench-peers bench-programs bench-cold bench-reread regret needle events durable migrate upstream upstream-page adapters \
	raftlog raftlog-test raftlog-soak

# What a first change needs: it is right, reached by tests, and not slower.
FIRST := test race lint fuzz cover bench bench-compare bench-programs

help:
	@awk -F ':.*## ' -v first=' $(FIRST) ' '/^[a-z-]+:.*## / { line = sprintf("make %-15s %s", $$1, $$2); \
		if (index(first, " " $$1 " ")) print line; else more = more line "\n" } \
		END { printf "\nFor maintainers, and for one part each:\n%s", more }' Makefile
	@echo "make linux/386, or another of these, runs the tests there:"
	@echo "  $(PLATFORMS)" | fold -sw 76

test: ## run the tests
	go test ./...

race: ## run them under the race detector
	go test -race ./...

eager: ## run them under a policy that maps what is read twice, and forgets at once what it knows
	go test -tags mmapfile_eager ./...

# FUZZ=FuzzSearch for one of them. Before Go 1.27 a fuzz test may fail as its time ends, with nothing found
# (golang.org/issue/75804): that is no failure. Without a limit, making inputs smaller takes most of a short run.
fuzz: ## give each fuzz test random inputs for FUZZTIME (60s): calls against os.File, logs, searches
	@out=$$(mktemp); trap 'rm -f $$out' EXIT; \
	for name in $(FUZZ); do \
		file=$$(grep -rlE --include='*_test.go' "^func $$name\(" .); \
		if [ -z "$$file" ]; then echo "there is no $$name"; exit 1; fi; \
		echo "$$name in $$file"; \
		{ go -C "$$(dirname "$$file")" test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x . 2>&1 || \
			echo "$$name failed"; } | tee $$out; \
		grep -qx "$$name failed" $$out || continue; \
		if grep -q 'Failing input written' $$out || ! grep -qx '    context deadline exceeded' $$out; then exit 1; fi; \
		echo "$$name found nothing: its time ended"; \
	done

fuzz-names:
	@printf '%s\n' $(FUZZ)

# FOREIGN=1h for longer.
FOREIGN ?= 5m
foreign: ## compare random calls with os.File while another process changes the file, four times FOREIGN (5m)
	go test -count=1 -v -timeout 0 -run BesideProcess ./internal/ostest -mmapfile.foreign=$(FOREIGN)
	go test -count=1 -v -timeout 0 -tags mmapfile_eager -run BesideProcess ./internal/ostest -mmapfile.foreign=$(FOREIGN)

kills: ## kill a writer of package eventlog a thousand times
	go test -count=1 -v -run '^TestKilledWriter' ./eventlog -eventlog.kills=1000

replacements: ## replace a file ten thousand times under the readers of package live
	go test -count=1 -v -timeout 1h -run BesideReplacement ./live -live.replacements=10000

crashes: ## crash 300 streams of package eventlog, at every step
	go test -count=1 -v -timeout 2h -run Crash ./eventlog -eventlog.crashes=300

# SEED=7000000 for other histories.
HISTORIES ?= 1000000
simulate: ## run eventlog and raftlog on a simulated disk that fails: HISTORIES (a million) from SEED on
	@failed=; \
	go test -count=1 -v -timeout 0 -run '^TestSimulate_(Stream|Log|Copy)$$' ./eventlog -eventlog.seed=$(SEED) -eventlog.histories=$(HISTORIES) || failed=1; \
	go -C raftlog test -count=1 -v -timeout 0 -run '^TestSimulate_Store$$' . -raftlog.seed=$(SEED) -raftlog.histories=$$(($(HISTORIES) / 10)) || failed=1; \
	[ -z "$$failed" ]

tools: ## install what platforms needs (as root: Debian packages)
	platforms/install

platforms: ## run the tests on all platforms that this machine can execute; the longest of all targets
	@go -C platforms run .

$(PLATFORMS):
	@go -C platforms run . $@

# Go links the tests of Android and iOS with cgo alone. Vetting links nothing, and with these tags
# it compiles no C either: these are built without their tests.
cross: ## compile and vet for every platform that Go knows, tests included
	@n=0; failed=; targets=$$(go tool dist list); total=$$(echo $$targets | wc -w); \
	for target in $$targets; do \
		n=$$((n + 1)); echo "$$n of $$total: $$target"; \
		export GOOS=$${target%/*} GOARCH=$${target#*/}; \
		case $$target in android/*|ios/*) cgo=1 tests=: ;; *) cgo=0 tests='go test -c -o /dev/null . ./internal/ostest' ;; esac; \
		CGO_ENABLED=0 go build ./... && CGO_ENABLED=0 $$tests && \
			CGO_ENABLED=$$cgo go vet -tags netgo,osusergo ./... || failed="$$failed $$target"; \
	done; \
	if [ -n "$$failed" ]; then echo "failed:$$failed"; exit 1; fi

# In a matrix, something counts as unused only if no build uses it.
define BUILDS
system:
windows: GOOS=windows
nommap: -tags=nommap
eager: -tags=mmapfile_eager
endef
export BUILDS

lint: ## gofmt, go vet, staticcheck (here, for Windows, without any mapping), actionlint
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted:" $$unformatted; exit 1; fi
	go vet ./...
	GOOS=windows go vet ./...
	go vet -tags nommap ./...
	go -C benchdata vet ./...
	go -C benchdata build -o '$(BIN)/' honnef.co/go/tools/cmd/staticcheck
	echo "$$BUILDS" | '$(BIN)/staticcheck' -matrix ./...
	cd benchdata && '$(BIN)/staticcheck' ./...
	go -C benchdata/programs vet ./...
	cd benchdata/programs && '$(BIN)/staticcheck' ./...
	cd adapters && '$(BIN)/staticcheck' ./...
	go -C platforms vet ./...
	cd platforms && '$(BIN)/staticcheck' ./...
	cd raftlog && '$(BIN)/staticcheck' ./...
	cd raftlog/compare && '$(BIN)/staticcheck' ./...
	go -C platforms build -o '$(BIN)/' github.com/rhysd/actionlint/cmd/actionlint
	'$(BIN)/actionlint'

vulncheck: ## look for known vulnerabilities in what the modules call (needs the network)
	go -C platforms build -o '$(BIN)/' golang.org/x/vuln/cmd/govulncheck
	'$(BIN)/govulncheck' ./...
	cd adapters && '$(BIN)/govulncheck' ./...
	cd migrate && '$(BIN)/govulncheck' ./...
	cd raftlog && '$(BIN)/govulncheck' ./...

cover: ## print the share of statements that the tests reach, for each package and for all
	@platforms/cover

apidiff: ## print how the API differs from the last tag; fail if v1 programs may not build
	@platforms/apidiff -check

release: ## check that HEAD can be released as VERSION (v1.2.3), and print the commands for it
	@platforms/release '$(VERSION)'

# BENCH_ROUNDS=2 for a shorter run. Without v0.1.2, if no registry has it.
bench: ## compare with os.File and v0.1.2: a selection
	@$(benchdata) run -rounds $(or $(BENCH_ROUNDS),5) -benchtime 10ms -impl '^(os|os-again|mmapfile|v0.1.2)$$' \
		$(or $(call select,BENCH),-skip '$(BENCH_SKIP)')

# FULL_ROUNDS=3 for a shorter run.
bench-full: ## compare with os.File and other mappings: everything, ten times
	@$(benchdata) run -rounds $(or $(FULL_ROUNDS),10) -benchtime 20ms $(or $(call select,BENCH),-skip '$(REREAD)' -out results/bench-full.txt)

# REREAD_ROUNDS=3 for a shorter run.
bench-reread: ## compare by how often the same pages are read: time, and the memory of an open file
	@$(benchdata) run -rounds $(or $(REREAD_ROUNDS),10) -benchtime 100ms -row '$(REREAD)' -out results/reread.txt

bench-compare: ## fail if HEAD (what is here) is significantly slower than BASE (main), by 15% or more
	@$(benchdata) compare -rounds 10 -benchtime 10ms $(call select,BENCH) \
		-skip '$(COMPARE_SKIP)' '$(BASE)' $(HEAD)

bench-peers: ## compare with Rust's mmap-io and memmap2 (needs cargo)
	@$(benchdata) peers -rounds 10 -benchtime 50ms

# PROGRAM=regexp selects some of them. The files are read into memory page by page, as random reads do. The data,
# 2.3 GB, stays below the temporary directory.
PROGRAM ?=
bench-programs: ## compare Go programs (tar, SQLite, go-git and others) with os.File
	@$(benchdata) programs $(call select,PROGRAM)

# It needs Linux, and root for the rows with a loop device or a cgroup, which are left out without.
# ROW='^(order|scan)' for some of them. COLD_ROUNDS=3 for a shorter run.
bench-cold: ## compare on files that are not in memory, larger than it, or read once
	@$(benchdata) cold -rounds $(or $(COLD_ROUNDS),7) $(call select,ROW)

# SEED and N choose the programs; PROGRAM='size=4096,life=90' measures one, and BASE=main that commit beside it.
SEED ?= 1
N ?= 200
regret: ## search for programs that are slower with a File than with os.File
	@$(benchdata) regret -seed $(SEED) -n $(N) $(if $(filter command,$(origin BASE)),-base '$(BASE)') $(if $(PROGRAM),-out results/selection.txt -program '$(PROGRAM)')

# For needle: the size of the file, how often, and where the raw results go, from benchdata on.
SIZE ?= 1G
ROUNDS ?= 5
OUT ?= results/needle.txt

# Two of the ways need the experiment. GOEXPERIMENT= leaves them out, for a Go that does not know it.
needle: ## find a word at the end of SIZE (1G) of zeros in many ways
	@export GOEXPERIMENT=$${GOEXPERIMENT-simd}; $(benchdata) needle -size $(SIZE) -rounds $(ROUNDS) $(or $(call select,ROW),-out '$(OUT)')

# EVENTS_ROUNDS=5 for a longer run.
events: ## compare eventlog with other ways to keep events, and records with buffered ones
	@$(benchdata) events -rounds $(or $(EVENTS_ROUNDS),3) -benchtime 50ms $(call select,ROW)

# DURABLE_ROUNDS=60 for a longer run. BENCH_DIR chooses the disk.
durable: ## compare eventlog with raft-wal, tidwall/wal and others, each append durable
	@$(benchdata) durable -rounds $(or $(DURABLE_ROUNDS),20) -benchtime 200ms $(call select,ROW)

migrate: ## vet and test migrate, and the steps of examples/migrate
	go -C migrate vet ./...
	go -C migrate test ./...
	go -C examples/migrate vet ./...
	go -C examples/migrate test ./...

adapters: ## vet and test the adapters for other libraries
	go -C adapters vet ./...
	GOOS=windows go -C adapters build ./...
	go -C adapters test ./...

# UPSTREAM_FLAGS="-only bbolt" for some, "-rounds 0" for no benchmarks, "-keep DIR" to look at what ran.
UPSTREAM_FLAGS ?=
upstream: ## run the test suites of well-known modules over File (needs the network)
	@go -C migrate run ./upstream $(UPSTREAM_FLAGS)

upstream-page: ## put their results into docs/proven.md
	@go -C migrate run ./upstream -page

# RAFTLOG_ROUNDS=10 for a longer run.
raftlog: ## compare raftlog with raft-wal and raft-boltdb
	@$(benchdata) raft -rounds $(or $(RAFTLOG_ROUNDS),5) -benchtime 200ms $(call select,ROW)

raftlog-test: ## vet and test raftlog, its example, and the comparison
	go -C raftlog vet ./...
	go -C raftlog test ./...
	go -C raftlog/compare vet ./...
	go -C raftlog/compare test ./...

# As root also with a full disk.
raftlog-soak: ## kill nodes of a cluster 200 times, stop them, fill their disks, and verify their logs
	go -C raftlog test -count=1 -timeout 1h -v -run 'Killed|Disk' . -raftlog.kills=1000 -raftlog.fulls=50 -raftlog.lates=50
	go -C raftlog test -count=1 -timeout 1h -v ./examples/replicated -rounds=200
	go -C raftlog/compare test -count=1 -timeout 1h -v -run Verifier . -soak=10m
