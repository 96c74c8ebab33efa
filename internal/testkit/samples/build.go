package samples

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"judged/internal/stage"
)

// Build makes the sample's program in dir and sets Program. Samples that are
// built alike share one. A program in C takes gcc.
func (s *Sample) Build(ctx context.Context, flags []string, dir string) error {
	path := filepath.Join(dir, s.key(flags))
	if _, err := os.Stat(path); err == nil {
		s.Program = path
		return nil
	}
	build := s.copy
	if filepath.Ext(s.Source) == ".c" {
		build = func(path string) error { return compile(ctx, s.arguments(flags, path)) }
	}
	if err := build(path); err != nil {
		return fmt.Errorf("build sample %q: %w", s.Name, err)
	}
	s.Program = path
	return nil
}

// key names a program by all that it is made of.
func (s *Sample) key(flags []string) string {
	sum := sha256.Sum256([]byte(strings.Join(s.arguments(flags, ""), "\x00")))
	return fmt.Sprintf("%s-%x", filepath.Base(s.Source), sum[:6])
}

func (s *Sample) arguments(flags []string, out string) []string {
	args := append([]string{"-o", out}, flags...)
	if s.Static {
		args = append(args, "-static")
	}
	return append(append(args, s.Source), s.Link...)
}

func (s *Sample) copy(path string) error {
	content, err := os.ReadFile(s.Source)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o755)
}

// compile runs gcc. A program that was cut short must not be taken for one
// that is built, so it gets its name last.
func compile(ctx context.Context, args []string) error {
	out := args[1]
	args[1] = out + ".tmp"
	text, err := exec.CommandContext(ctx, "gcc", args...).CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("run gcc %q: %w\n%s", args, err, bytes.TrimSpace(text))
	}
	return os.Rename(args[1], out)
}

// InSandbox reports whether a program of this name is in the sandbox's path,
// as far as this host shows: a sandbox sees the host's folders.
func InSandbox(name string) bool {
	for dir := range strings.SplitSeq(stage.Path, ":") {
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}
