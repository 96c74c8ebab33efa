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
)

const initPackage = "judged/internal/testkit/guest/init"

// Build compiles the main package pkg ("./testdata/echo", "judged/cmd/judged") without cgo, because guests have
// no libraries, for an amd64 guest. It returns the path of the executable in t's temporary folder.
func Build(t testing.TB, pkg string, flags ...string) string {
	t.Helper()
	return BuildFor(t, "amd64", pkg, flags...)
}

// BuildFor is like Build for guests of an architecture.
func BuildFor(t testing.TB, arch, pkg string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(pkg))
	args := slices.Concat([]string{"build"}, flags, []string{"-o", out, pkg})
	if err := goTool(t.Context(), arch, "", args); err != nil {
		t.Fatal(err)
	}
	return out
}

func goTool(ctx context.Context, arch, dir string, args []string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = goEnvironment(arch)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run go %q: %w\n%s", args, err, text)
	}
	return nil
}

// writeInitrd writes the guest's root file system, the only one it has. It is not compressed, because unpacking
// 50 MB under emulation would take longer than it saves.
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
	plan, err := json.Marshal(Plan{Commands: cfg.Commands})
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	a := newArchive(out)
	a.file("/init", init)
	a.bytes(PlanPath, string(plan), 0o644)
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
