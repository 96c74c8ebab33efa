package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"judged/internal/testkit"
	"judged/internal/testkit/guest/wire"
)

const initPackage = "judged/internal/testkit/guest/init"

// Assets returns the kernel image and the emulator that .ci/setup has put on
// this machine. It fetches nothing.
func Assets() (kernel, qemu string, err error) {
	qemu, err = exec.LookPath("qemu-system-x86_64")
	if err != nil {
		return "", "", fmt.Errorf("find the emulator: %w; run .ci/setup as root", err)
	}
	kernel, err = testkit.GuestKernelPath()
	return kernel, qemu, err
}

// Build compiles the main package pkg ("./testdata/echo", "judged/cmd/judged")
// without cgo, so that it runs in a guest that has no libraries, and returns
// the path of the executable in t's temporary folder.
func Build(t testing.TB, pkg string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(pkg))
	args := slices.Concat([]string{"build"}, flags, []string{"-o", out, pkg})
	if err := goTool(t.Context(), "", args); err != nil {
		t.Fatal(err)
	}
	return out
}

func goTool(ctx context.Context, dir string, args []string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// The guest's CPU is not the host's, so no GOAMD64 of the host either.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOAMD64=v1")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run go %q: %w\n%s", args, err, text)
	}
	return nil
}

// writeInitrd writes the guest's first and only root file system. It is not
// compressed: unpacking 50 MB under emulation takes as long as gzip would save.
func writeInitrd(path, init string, cfg Config) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("make the initramfs: %w", err)
	}
	defer func() {
		if closeErr := out.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("write the initramfs: %w", closeErr)
		}
	}()
	plan, err := json.Marshal(wire.Plan{Commands: cfg.Commands})
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	a := newArchive(out)
	a.file("/init", init)
	a.bytes(wire.PlanPath, string(plan), 0o644)
	a.bytes("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n", 0o644)
	a.bytes("/etc/group", "root:x:0:\nnogroup:x:65534:\n", 0o644)
	a.bytes("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n", 0o644)
	for _, dir := range []string{"/root", "/bin", "/usr/bin", "/var/tmp"} {
		a.dir(dir)
	}
	for to, from := range cfg.Dirs {
		a.tree(to, from)
	}
	for to, from := range cfg.Files {
		a.file(to, from)
	}
	if err := a.close(); err != nil {
		return fmt.Errorf("write the initramfs: %w", err)
	}
	return nil
}
