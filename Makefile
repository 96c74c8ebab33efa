# make          lists the targets
# Everything that is built goes to bin/; make demo and make test install what
# they need on Debian when they are root, and say what is missing elsewhere.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
GO      := go
export CGO_ENABLED := 0

.PHONY: help build demo test setup check bench fuzz clean

help:
	@echo 'make build   bin/judged, static'
	@echo 'make demo    judge the sample programs through a daemon, and show what came of them'
	@echo 'make test    everything: unit, native (root), guest (QEMU)'
	@echo 'make bench   the promises of deploy/PROMISES.md, measured'
	@echo 'make fuzz    every fuzz target for 10 s'
	@echo 'make clean   remove bin/'

# judged carries judged-init inside itself, so that one is built first.
build:
	$(GO) build -trimpath -ldflags='-s -w' -o internal/sandbox/judged-init ./cmd/judged-init
	$(GO) build -trimpath -tags embedinit -ldflags='-s -w -X main.version=$(VERSION)' -o bin/judged ./cmd/judged

demo: build
	$(GO) run ./cmd/judged-demo -judged bin/judged -samples testdata/samples.json

# What .ci/setup fetched and no package manager put in place.
export PATH := $(PATH):$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/judged-test/bin

test: setup build check
	$(GO) test -p 1 -timeout 15m $$($(GO) list ./... | grep -v -e /testkit/guest -e /cmd/)
	$(GO) test -p 1 -timeout 15m -count=1 ./internal/testkit/guest/... ./cmd/...

setup:
	@.ci/setup

check:
	@test -z "$$(gofmt -l cmd internal)" || { gofmt -l cmd internal; echo 'gofmt would change these'; exit 1; }
	$(GO) vet ./...
	GOARCH=arm64 $(GO) build -o /dev/null ./cmd/judged-init
	GOARCH=arm64 $(GO) build -o /dev/null ./cmd/judged

# One after the other, each figure beside the bare fork+exec of the same minute.
bench: build
	$(GO) test -tags embedinit -run '^$$' -bench Start -benchtime 500x ./internal/sandbox
	$(GO) test -tags embedinit -run '^$$' -bench 'Overshoot|Peak' -benchtime 100x ./internal/sandbox
	$(GO) test -tags embedinit -run '^$$' -bench Job -benchtime 300x ./internal/daemon
	$(GO) test -tags embedinit -run '^$$' -bench Throughput -benchtime 30x ./internal/daemon
	$(GO) test -tags embedinit -run '^$$' -bench Idle -benchtime 1x ./internal/daemon
	$(GO) test -run '^$$' -bench . -p 1 ./internal/stats ./internal/checker ./internal/evidence

fuzz:
	@for f in $$(grep -rl --include='*_test.go' '^func Fuzz' internal); do \
	  for name in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$f); do \
	    $(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime 10s ./$$(dirname $$f) || exit 1; done; done

clean:
	rm -rf bin internal/sandbox/judged-init
