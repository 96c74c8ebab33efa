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
)

// Build builds the sample's program in dir and sets Program. Samples with the same source and flags share a
// program. It needs the compiler of the language.
func (s *Sample) Build(ctx context.Context, flags []string, dir string) error {
	path := filepath.Join(dir, s.key(flags))
	if _, err := os.Stat(path); err == nil {
		s.Program = path
		return nil
	}
	// Rename the complete program last, so that a partial one is never used.
	err := s.make(ctx, flags, path+".tmp")
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		return fmt.Errorf("build sample %q: %w", s.Name, err)
	}
	s.Program = path
	return nil
}

func (s *Sample) make(ctx context.Context, flags []string, out string) error {
	switch filepath.Ext(s.Source) {
	case ".c":
		return run(ctx, "gcc", s.arguments(flags, out)...)
	case ".go":
		return run(ctx, "go", "build", "-o", out, s.Source)
	case ".rs":
		return run(ctx, "rustc", "-O", "--crate-name=sample", "-o", out, s.Source)
	case ".java":
		return s.makeJar(ctx, out)
	case ".cs":
		return run(ctx, "mcs", "-optimize+", "-out:"+out, s.Source)
	}
	return s.copy(out)
}

// makeJar creates a JAR file whose main class is Main.
func (s *Sample) makeJar(ctx context.Context, out string) error {
	classes := out + ".classes"
	defer os.RemoveAll(classes)
	// javac requires the file name to match the class.
	source := filepath.Join(classes, "Main.java")
	if err := os.Mkdir(classes, 0o755); err != nil {
		return err
	}
	text, err := os.ReadFile(s.Source)
	if err != nil {
		return err
	}
	if err := os.WriteFile(source, text, 0o644); err != nil {
		return err
	}
	if err := run(ctx, "javac", noPerfData, "-d", classes, source); err != nil {
		return err
	}
	return run(ctx, "jar", noPerfData, "cfe", out, "Main", "-C", classes, ".")
}

// noPerfData keeps the JVM from leaving a folder in /tmp.
const noPerfData = "-J-XX:-UsePerfData"

// key returns a name that depends on everything the program is built from.
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

func run(ctx context.Context, compiler string, args ...string) error {
	text, err := exec.CommandContext(ctx, compiler, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("run %s %q: %w\n%s", compiler, args, err, bytes.TrimSpace(text))
	}
	return nil
}
