package runtimes

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

// link compiles and links an empty program.
func link(t testing.TB, out string, flags ...string) string {
	t.Helper()
	testkit.Need(t, testkit.GCC, testkit.StaticGCC)
	source := filepath.Join(t.TempDir(), "empty.c")
	write(t, source, "int main(void) { return 0; }\n")
	// --no-as-needed, because an empty program uses no library.
	args := append([]string{"-o", out, "-Wl,--no-as-needed", source}, flags...)
	if text, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %q: %v\n%s", args, err, text)
	}
	return out
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestReadLinkage compares with package debug/elf.
func TestReadLinkage(t *testing.T) {
	dir := t.TempDir()
	for name, flags := range map[string][]string{
		"dynamic": {"-lm"},
		"runpath": {"-lm", "-Wl,--enable-new-dtags,-rpath=/usr/lib/one:$ORIGIN/two"},
		"folders": {"-Wl,-rpath=1:2:3:4:5:6:7:8:9"},
		"rpath":   {"-Wl,--disable-new-dtags,-rpath=/usr/lib/one"},
		"library": {"-shared", "-fPIC"},
		"loader":  {"-Wl,--dynamic-linker=/lib/other.so"},
		"static":  {"-static"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open(link(t, filepath.Join(dir, name), flags...))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			got, ok := readLinkage(f)
			if diff := cmp.Diff(linkageBy(t, f), got, cmp.AllowUnexported(linkage{})); diff != "" || !ok {
				t.Errorf("an ELF file: %t; -debug/elf +ours:\n%s", ok, diff)
			}
		})
	}
}

func linkageBy(t *testing.T, f *os.File) (l linkage) {
	t.Helper()
	e, err := elf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range e.Progs {
		if p.Type == elf.PT_INTERP {
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err != nil {
				t.Fatal(err)
			}
			l.loader = string(bytes.TrimRight(b, "\x00"))
		}
	}
	if l.libraries, err = e.ImportedLibraries(); err != nil {
		t.Fatal(err)
	}
	for tag, to := range map[elf.DynTag]*[]string{elf.DT_RUNPATH: &l.runpath, elf.DT_RPATH: &l.rpath} {
		lists, err := e.DynString(tag)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range lists {
			*to = splitFolders(list)
		}
	}
	return l
}

func TestReadLinkageOfOtherFiles(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "a script": "#!/bin/sh\n", "magic only": elf.ELFMAG, "32 bits": elf.ELFMAG + "\x01\x01" +
			string(make([]byte, 100)),
		"no segments": elf.ELFMAG + "\x02\x01" + string(make([]byte, 58)),
	} {
		l, ok := readLinkage(bytes.NewReader([]byte(text)))
		if diff := cmp.Diff(linkage{}, l, cmp.AllowUnexported(linkage{})); diff != "" || ok != (name == "no segments") {
			t.Errorf("%s is an ELF file: %t (-want +got):\n%s", name, ok, diff)
		}
	}
}

// FuzzReadLinkage checks that no file makes the reader panic or exceed its limits.
func FuzzReadLinkage(f *testing.F) {
	for _, flags := range [][]string{{"-lm", "-Wl,-rpath=/usr/lib/one"}, {"-static"}} {
		b, err := os.ReadFile(link(f, filepath.Join(f.TempDir(), "seed"), flags...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 16<<10)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, _ := readLinkage(bytes.NewReader(b))
		for _, s := range slices.Concat(l.libraries, l.runpath, l.rpath, []string{l.loader}) {
			if len(s) > maxString {
				t.Errorf("a string of %d bytes", len(s))
			}
		}
		if len(l.libraries) > maxLibraries || len(l.runpath) > maxFolders || len(l.rpath) > maxFolders {
			t.Errorf("%d libraries in %d and %d folders", len(l.libraries), len(l.runpath), len(l.rpath))
		}
	})
}

func TestReadInterpreters(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                   nil,
		"\x7fELF":                            nil,
		"#!":                                 nil,
		"#!\n/bin/sh":                        nil,
		"#!/bin/sh":                          {"/bin/sh"},
		"#! /bin/sh -e\nexit":                {"/bin/sh"},
		"#!/usr/bin/env python3\n":           {"/usr/bin/env", "python3"},
		"#!/usr/bin/env -S A=1 python3 -u\n": {"/usr/bin/env", "python3"},
		"#!/usr/bin/env\n":                   {"/usr/bin/env"},
		"print()":                            nil,
	} {
		if diff := cmp.Diff(want, readInterpreters(bytes.NewReader([]byte(text)))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestIsWhole truncates programs, and removes their segments.
func TestIsWhole(t *testing.T) {
	program, err := os.ReadFile(link(t, filepath.Join(t.TempDir(), "static"), "-static"))
	if err != nil {
		t.Fatal(err)
	}
	small := bytes.Clone(program) // the same bytes have another meaning there
	small[elf.EI_CLASS] = byte(elf.ELFCLASS32)
	nothing := bytes.Clone(program)
	nothing[56], nothing[57] = 0, 0 // e_phnum
	swapped := bytes.Clone(program)
	swapped[elf.EI_DATA] = byte(elf.ELFDATA2MSB)
	for name, tt := range map[string]struct {
		text []byte
		want bool
	}{
		"whole":         {program, true},
		"a script":      {[]byte("#!/bin/sh\n"), true},
		"nothing":       {nil, true},
		"the magic":     {program[:4], false},
		"no header":     {program[:40], false},
		"no segments":   {program[:100], false},
		"half":          {program[:len(program)/2], false},
		"none to load":  {nothing, false},
		"32 bits":       {small, false},
		"other machine": {swapped, true},
	} {
		if got := isWhole(bytes.NewReader(tt.text), uint64(len(tt.text))); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
