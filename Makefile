# One command each: build, run, demo, test, ci. "make help" says what they do.
GO      ?= go
TAGS    := sqlite_fts5
BIN     := bin/session-migrator
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
TOOLS   := $(CURDIR)/.tools
LINT    := $(TOOLS)/golangci-lint
LINT_VERSION := v2.15.0
WINDOWS_CC   := x86_64-w64-mingw32-gcc
GO_MINOR     := 26
GET_GO       := Install Go 1.$(GO_MINOR) or newer: https://go.dev/dl/ (Linux distributions may have an older one; macOS: brew install go; Windows: winget install GoLang.Go)

.PHONY: help build run demo test vet lint fuzz differ ci-differ ci-fuzz speed clients crash mutants faults reliability cross e2e systemd wine bench ci abroad docs release release-check picture clean check-tools
.DEFAULT_GOAL := build

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

# An older Go may fetch the one it needs by itself: then that one is asked.
check-tools:
	@command -v $(GO) >/dev/null || { echo "Go is missing. $(GET_GO)"; exit 1; }
	@v=$$($(GO) env GOVERSION 2>/dev/null); minor=$$(echo "$$v" | sed -nE 's/.*go1\.([0-9]+).*/\1/p'); [ "$${minor:-0}" -ge $(GO_MINOR) ] || \
		{ echo "This Go is too old$${v:+ ($$v)}, at $$(command -v $(GO)). $(GET_GO)"; exit 1; }
	@cc=$$($(GO) env CC); command -v $${cc%% *} >/dev/null || { echo "A C compiler ($$cc) is missing; SQLite is compiled in. Debian/Ubuntu: apt install gcc libc6-dev; Fedora: dnf install gcc; macOS: xcode-select --install; Windows: winget install BrechtSanders.WinLibs.POSIX.UCRT"; exit 1; }

build: check-tools ## bin/session-migrator
	@[ -x $(BIN) ] || echo "Compiling $(BIN): about a minute the first time, a few seconds from then on."
	@CGO_ENABLED=1 $(GO) build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/session-migrator

run: build ## the main job on your Codex home, until Ctrl-C; the demo where there is none
	@if [ -d "$${CODEX_HOME:-$$HOME/.codex}" ]; then $(BIN) run; else echo "No Codex home at $${CODEX_HOME:-$$HOME/.codex}: playing the sample."; $(BIN) demo; fi

demo: build ## the main job on a bundled sample, start to end
	@$(BIN) demo

vet:
	@$(GO) vet -tags $(TAGS) ./...

# All tests were vetted by then. Some packages wait as much as they compute, so
# one more is tested at a time than there are processors. By default a program
# built with -race sleeps a second before it ends.
test: check-tools vet ## vet, the import and size gates, all tests with -race
	@CGO_ENABLED=1 GORACE="atexit_sleep_ms=10 $$GORACE" $(GO) test -race -vet=off -p $$(($$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 1)) -tags $(TAGS) -timeout 30m ./...

lint: $(LINT)-$(LINT_VERSION) ## golangci-lint, pinned
	@$(LINT)-$(LINT_VERSION) run --build-tags $(TAGS) ./...

$(LINT)-$(LINT_VERSION):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) $(GO) install $(LINT_FLAGS) github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	@mv $(LINT) $@

fuzz: ## every fuzz target for FUZZTIME inputs (default 3000x) or so long (30s), seeds included
	@./.ci/fuzz $(FUZZTIME)

differ: ## counts of N drawn texts (default 10 million) against tiktoken-go's
	@./.ci/differ $(or $(N),10000000)

ci-differ:
	@./.ci/differ 100000

# Of what needs SQLite only the seeds, in make test: to compile it for the fuzzer
# takes longer than all inputs.
ci-fuzz: ci-differ
	@./.ci/fuzz 3000x daemon/config install pipeline watch

speed: ## fails where counting isn't so many times as fast as tiktoken-go in the same process
	@$(GO) test -count=1 -tags '$(TAGS) speed' -timeout 5m -run '^TestSpeed$$' -v ./pipeline/tokens

# The tests beside the lanes of kills mostly wait.
crash: ## kill -9 while rollouts are written, N times (default 300), compared with a clean read after each; CRASH_SEED=n repeats a run
	@CGO_ENABLED=1 CRASH_KILLS=$(or $(N),300) $(GO) test -count=1 -tags '$(TAGS) crash' -timeout 12h -parallel 8 -run '^TestCrash' -v ./daemon

mutants: ## puts known faults into a copy of the tree; the crash test must find each within N kills (default 300)
	@./.ci/mutants $(or $(N),300)

# Only packages with such tests: to link all others took 35 s of CPU.
faults: ## the slow tests of faults: limits, full disks, killed readers; those that need strace or a namespace skip without
	@CGO_ENABLED=1 $(GO) test $(SHORT) -tags '$(TAGS) faults' -timeout 20m -run '^TestFault' $$(grep -rl --include='*_test.go' '^func TestFault' . | xargs -n 1 dirname | sort -u)

# All but the test that the page names every test: the page is what comes of it.
reliability: ## docs/reliability.md, from all tests of faults (N kills, default 2000) and the benchmarks of goals
	@d=$$(mktemp -d) && export RELIABILITY_DIR=$$d CGO_ENABLED=1 && \
		$(GO) test -count=1 -tags $(TAGS) -skip '^TestPageNamesEveryTest$$' ./... && \
		$(GO) test -count=1 -tags '$(TAGS) faults' -timeout 20m -run '^TestFault' ./... && \
		$(MAKE) --no-print-directory crash N=$(or $(N),2000) && \
		$(GO) test -tags $(TAGS) -run '^$$' -bench '^BenchmarkGoal' ./... && \
		$(GO) run -tags $(TAGS) ./daemon/reliability/gen $$d docs/reliability.md; rc=$$?; rm -rf $$d; exit $$rc

cross: ## builds for Windows (needs mingw-w64) and vets for macOS
	@command -v $(WINDOWS_CC) >/dev/null || { echo "mingw-w64 is missing: apt install gcc-mingw-w64-x86-64"; exit 1; }
	CGO_ENABLED=1 GOOS=windows GOARCH=amd64 CC=$(WINDOWS_CC) $(GO) build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS) -extldflags=-static' -o bin/session-migrator.exe ./cmd/session-migrator
	@# Vet wants compiled packages, and nothing runs here: a fast compile will do.
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) vet -gcflags='all=-N -l -dwarf=false' -tags $(TAGS) ./...

e2e: build ## real clients from npm, where it can be reached; a skip prints why
	@./.ci/e2e

systemd: check-tools ## the service in a container that boots: login, install, kill, upgrade, uninstall; needs root, a skip prints why
	@./.ci/systemd

wine: check-tools ## the Windows program under Wine: reads, answers an agent, is a service; a skip prints why
	@./.ci/wine

bench: ## benchmarks
	@$(GO) test -tags $(TAGS) -run '^$$' -bench . -benchmem ./...

# What waits most goes beside what computes most; the crash test goes alone. The
# seeded faults (make mutants) were each found within 20 kills.
# Half the time is the compiler's. So the program and its tests are one kind of
# build, without what only a debugger reads, and SQLite's C, which is compiled
# for each kind of build, is ready in a third of the time. The linter runs
# once: to optimise it takes longer than it saves.
ci: export CGO_CFLAGS := -O1 -g0
ci: export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS 2>/dev/null) -trimpath -gcflags=all=-dwarf=false -ldflags=-w)
ci: ## all that a change must pass
	@$(MAKE) --no-print-directory -j2 --output-sync=target vet clients
	@$(MAKE) --no-print-directory -j2 --output-sync=target test lint LINT_FLAGS="-gcflags='all=-N -l -dwarf=false'"
	@$(MAKE) --no-print-directory speed
	@$(MAKE) --no-print-directory -j2 --output-sync=target faults abroad ci-fuzz SHORT=-short
	@$(MAKE) --no-print-directory crash N=80

clients:
	@./.ci/e2e --get

# Nothing that is built for Windows here is run: a fast compile will do.
abroad:
	@CGO_CFLAGS='-O0 -g0' GOFLAGS="$$GOFLAGS '-gcflags=all=-N -l -dwarf=false'" $(MAKE) --no-print-directory cross
	@$(MAKE) --no-print-directory e2e

docs: build ## manual pages and completion scripts, into bin/man and bin/completions
	@rm -rf bin/man bin/completions && mkdir -p bin/man bin/completions
	@MAN_DIR=$(CURDIR)/bin/man MAN_VERSION=$(VERSION) MAN_DATE=$$(git log -1 --format=%cs 2>/dev/null) $(GO) test -count=1 -tags $(TAGS) -run '^TestManPages$$' ./cmd/session-migrator >/dev/null
	@for s in bash zsh fish powershell; do $(BIN) completion $$s >bin/completions/session-migrator.$$s; done

release: check-tools ## all that is given out, into dist/; RELEASE=v1.2.3 where no tag is checked out (docs/releasing.md)
	@./.ci/release $(RELEASE)

release-check: ## builds the release twice, in two folders, and compares all bytes
	@./.ci/release-check $(RELEASE)

picture: build ## docs/terminal.svg, from the real program (needs python3)
	@./.ci/record $(BIN)

clean: ## removes what was built
	@rm -rf bin dist
