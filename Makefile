# make          lists the targets
# Everything that is built goes to bin/; make demo and make test install what
# they need on Debian when they are root, and say what is missing elsewhere.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
GO      := go
export CGO_ENABLED := 0
# One set of flags for all commands, so that dependencies are compiled once. Binaries of tests have no DWARF: they are
# linked in half the time.
export GOFLAGS := -trimpath -ldflags=-w $(GOFLAGS)

# bin/deb/judged is of one architecture and version, so it is always built.
.PHONY: bin/deb/judged help build deb image release demo demo-fleet test test-unit test-native test-guest test-arm64 setup check bench policy soak fuzz mutate clean

.NOTPARALLEL:

help:
	@echo 'make build   bin/judged, static'
	@echo 'make deb     bin/judged_VERSION_ARCH.deb, the Debian package; DEB_ARCH=arm64 for the other architecture'
	@echo 'make image   bin/judged_VERSION_ARCH.oci.tar, an image for containers, with Debian'"'"'s GCC and Python'
	@echo 'make release bin/release: programs, packages, their modules (SBOM) and checksums, for amd64 and arm64'
	@echo 'make demo    judge the sample programs through a daemon, and show the verdicts'
	@echo 'make demo-fleet   two fronts, one of them killed, PostgreSQL, and three simulated judges, one of them slow'
	@echo 'make test    everything: unit, native (root), guest (QEMU)'
	@echo 'make test-arm64   those of it that boot an arm64 guest'
	@echo 'make bench   the promises of deploy/PROMISES.md, measured'
	@echo 'make policy  how often each policy is wrong near the limit, simulated'
	@echo 'make soak    10 000 runs and what they leave, judged killed at every system call of a run, attacks without each layer, and 10 000 jobs of a fleet'
	@echo 'make fuzz    every fuzz target for 10 s, two at a time'
	@echo 'make mutate  break lines of PKG=./internal/jobs/blobs one at a time, and list those that no test notices'
	@echo 'make clean   remove bin/'

# judged carries judged-init inside itself, so that one is built first.
build:
	$(GO) build -ldflags='-s -w' -o internal/sandbox/judged-init ./cmd/judged-init
	$(GO) build -tags embedinit -ldflags='-s -w -X main.version=$(VERSION)' -o bin/judged ./cmd/judged

# Versions of packages grow: without a tag, by the time of the commit.
DEB_ARCH       := amd64
DEB_MAINTAINER := judged maintainers <judged@judged.invalid>
DEB_VERSION    := $(if $(filter v0% v1% v2% v3% v4% v5% v6% v7% v8% v9%,$(VERSION)),$(subst -,+,$(VERSION:v%=%)),0~$(shell git log -1 --format=%cd --date=format:%Y%m%d%H%M%S 2>/dev/null || echo 0)+$(subst -,+,$(VERSION)))
NFPM           := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4

# The time in packages, so that the same source gives the same bytes.
export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

# The overlay puts the judged-init of DEB_ARCH in the place of this machine's.
bin/deb/judged:
	rm -rf bin/deb && mkdir -p bin/deb
	GOARCH=$(DEB_ARCH) $(GO) build -ldflags='-s -w' -o bin/deb/judged-init ./cmd/judged-init
	echo '{"Replace":{"$(CURDIR)/internal/sandbox/judged-init":"$(CURDIR)/bin/deb/judged-init"}}' >bin/deb/overlay.json
	GOARCH=$(DEB_ARCH) $(GO) build -overlay bin/deb/overlay.json -tags embedinit -ldflags='-s -w -X main.version=$(VERSION)' -o bin/deb/judged ./cmd/judged

deb: bin/deb/judged
	$(GO) build -tags man -o bin/deb/manual ./cmd/judged
	bin/deb/manual man bin/deb/man && gzip -9n bin/deb/man/*
	for shell in bash zsh fish; do bin/deb/manual completion $$shell >bin/deb/judged.$$shell || exit 1; done
	sed 's|^token_file = ""|token_file = "/etc/judged/tokens"|' configs/judged.toml >bin/deb/judged.toml
	gzip -9nc CHANGELOG.md >bin/deb/NEWS.gz
	printf 'judged (%s) unstable; urgency=medium\n\n  * See NEWS.gz.\n\n -- %s  Thu, 01 Jan 1970 00:00:00 +0000\n' \
		'$(DEB_VERSION)' '$(DEB_MAINTAINER)' | gzip -9n >bin/deb/changelog.gz
	DEB_MAINTAINER='$(DEB_MAINTAINER)' DEB_ARCH=$(DEB_ARCH) VERSION='$(DEB_VERSION)' $(GO) run $(NFPM) package -f deploy/debian/nfpm.yaml -p deb -t bin/

# What programs are compiled and interpreted with. Install the versions that the hosts of the deciding pool have.
IMAGE_PACKAGES := ca-certificates,gcc,g++,libc6-dev,python3
IMAGE_ROOT     := bin/image-root-$(DEB_ARCH).tar

bin/image-root-%.tar:
	mkdir -p bin
	mmdebstrap --architectures=$* --variant=minbase --include=$(IMAGE_PACKAGES) trixie $@

image: bin/deb/judged $(IMAGE_ROOT)
	rm -rf bin/image
	$(GO) run ./cmd/judged-pack image -root $(IMAGE_ROOT) -program bin/deb/judged -arch $(DEB_ARCH) -version $(VERSION) -into bin/image
	tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C bin/image -cf bin/judged_$(VERSION)_$(DEB_ARCH).oci.tar .
	rm -rf bin/image

RELEASE_ARCHS := amd64 arm64

release:
	rm -rf bin/release && mkdir -p bin/release
	for arch in $(RELEASE_ARCHS); do \
		$(MAKE) deb DEB_ARCH=$$arch && \
		mv bin/judged_$(DEB_VERSION)_$$arch.deb bin/release/ && \
		$(GO) run ./cmd/judged-pack sbom bin/deb/judged $(VERSION) >bin/release/judged_$(VERSION)_$$arch.cdx.json && \
		cp bin/deb/judged bin/release/judged_$(VERSION)_$$arch || exit 1; \
	done
	cd bin/release && sha256sum * >SHA256SUMS

demo: build
	$(GO) run ./cmd/judged-demo -judged bin/judged -samples testdata/samples.json

demo-fleet: build
	$(GO) run ./cmd/judged-demo -judged bin/judged -fleet 300

# What .ci/setup fetched and no package manager put in place.
export PATH := $(PATH):$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/judged-test/bin

# The packages that boot guests. The tests that do so have Guest in their names.
guested = $$($(GO) list -f '{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./... | awk '/judged\/internal\/testkit\/guest( |$$)/ { print $$1 }')

# Of what measures or judges two packages run at once, the longest first: they wait for most of the time, and share the
# CPU on which programs are judged. Of the rest as many packages run at once as there are CPUs, and so do guests: an
# emulator keeps one CPU busy. With other work on the machine, runs near a limit wait for it to end, and tests take twice
# as long.
measuring = ./cmd/... ./internal/sandbox/... ./internal/timing/... ./internal/engine/... ./internal/lab/... ./internal/service/...

# One stage after the other; make -k test runs the later ones, too, if an earlier one fails.
test: check test-unit test-native test-guest

test-unit: setup build
	$(GO) test -timeout 15m -skip Guest $$($(GO) list ./... | grep -vxF "$$($(GO) list $(measuring))")

test-native: setup build
	$(GO) test -p 2 -timeout 40m -skip Guest $(measuring)

test-guest: setup build
	$(GO) test -p $$(nproc) -parallel 1 -timeout 30m -count=1 -run Guest $(guested)

# Part of test, too: what boots a guest of the other architecture.
test-arm64: setup
	$(GO) test -p 1 -timeout 30m -count=1 -v -run Arm64 $(guested)

setup:
	@.ci/setup

check:
	@test -z "$$(gofmt -l cmd internal)" || { gofmt -l cmd internal; echo 'gofmt would change these'; exit 1; }
	$(GO) vet ./...
	GOARCH=arm64 $(GO) vet ./...
	GOARCH=arm64 $(GO) build -o /dev/null ./cmd/judged-init
	GOARCH=arm64 $(GO) build -o /dev/null ./cmd/judged

# One after the other, each figure next to the bare fork+exec of the same minute.
bench: build
	$(GO) test -tags embedinit -run '^$$' -bench Start -benchtime 500x ./internal/sandbox
	$(GO) test -tags embedinit -run '^$$' -bench 'Overshoot|Afterlife|Peak|Read$$' -benchtime 100x ./internal/sandbox
	$(GO) test -tags embedinit -run '^$$' -bench Job -benchtime 300x ./internal/service/daemon
	$(GO) test -tags embedinit -run '^$$' -bench 'Tests|Input|DOMjudge' -benchtime 20x ./internal/service/daemon
	$(GO) test -tags embedinit -run '^$$' -bench Peers -benchtime 200x ./internal/service/daemon
	$(GO) test -tags embedinit -run '^$$' -bench Policies -benchtime 300x ./internal/service/daemon
	$(GO) test -tags embedinit -run '^$$' -bench Throughput -benchtime 30x ./internal/service/daemon
	$(GO) test -tags embedinit -run '^$$' -bench Idle -benchtime 1x -timeout 30m ./internal/service/daemon -idle-jobs 27500
	$(GO) test -tags embedinit -run '^$$' -bench Serve -benchtime 10x ./internal/service/daemon
	$(GO) test -run '^$$' -bench Fleet -benchtime 1x -timeout 30m ./internal/service/daemon
	$(GO) test -count=1 -v -run TestStreamedBlob ./internal/service/daemon -stream-mib 1024
	$(GO) test -run '^$$' -bench PutTakeFinish -benchtime 1000x ./internal/jobs
	$(GO) test -run '^$$' -bench Large -benchtime 50x -timeout 30m ./internal/jobs
	$(GO) test -tags embedinit -run '^$$' -bench Check -benchtime 300x ./internal/engine/jury
	$(GO) test -tags embedinit -run '^$$' -bench RoundTrips -benchtime 20x ./internal/engine/judge
	$(GO) test -tags embedinit -run '^$$' -bench Cached -benchtime 200x ./internal/engine/languages
	$(GO) test -tags embedinit -run '^$$' -bench Verify -benchtime 5x ./cmd/judged
	$(GO) test -run '^$$' -bench . -p 1 ./internal/timing/stats ./internal/engine/checker ./internal/timing/evidence

policy:
	@$(GO) test -count=1 -v -run 'TestPolicies|TestLoad$$' ./internal/timing/stats -programs 40000

soak: build
	$(GO) test -tags embedinit -count=1 -timeout 80m -v -run '^TestEndurance$$' ./internal/service/daemon -endure 1h
	$(GO) test -tags embedinit -count=1 -timeout 60m -v -run '^TestSoak$$' ./internal/sandbox -soak 10000
	$(GO) test -tags embedinit -count=1 -timeout 60m -v -run '^TestKilledAtEveryCall$$' ./internal/sandbox -kill-every 1
	$(GO) test -tags embedinit -count=1 -timeout 60m -v -run '^TestSetUpFails$$' ./internal/sandbox -fail-every 1
	$(GO) test -count=1 -timeout 60m -v -run '^TestLayers$$' ./internal/engine/judge -every-layer
	$(GO) test -tags embedinit -count=1 -timeout 60m -v -run '^TestLinearizable$$' ./internal/service/daemon -linear-jobs 10000

# Longer, or a part of the targets: make fuzz FUZZTIME=60s PART=3/8
FUZZTIME := 10s
PART     := 0/1

fuzz:
	@.ci/fuzz $(FUZZTIME) $(PART)

# A tool that is separate, not of go.mod. It takes as many runs of the package's tests as
# there are mutants.
PKG := ./internal/jobs/blobs

mutate:
	$(GO) run github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0 unleash --workers 1 $(PKG)

clean:
	rm -rf bin internal/sandbox/judged-init
