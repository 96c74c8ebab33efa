package judge_test

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/units"
	"judged/internal/engine/judge"
	"judged/internal/engine/measure"
	"judged/internal/jobs/intake"
	"judged/internal/testkit"
)

// bench judges single programs on one slot.
type bench struct {
	t      *testing.T
	config config.Config
	worker *measure.Worker
}

func newBench(t *testing.T) bench { return newBenchIn(t, config.Default()) }

func newBenchIn(t *testing.T, c config.Config) bench {
	t.Helper()
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openEngineOf(t, c, 1)
	worker := eng.Worker(eng.Slots()[0])
	t.Cleanup(func() {
		worker.Settle()
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
		assertNothingLeft(t)
	})
	return bench{t, c, worker}
}

// judge judges a job. The limits are small, because the behavior of a damaged program does not matter.
func (b bench) judge(j api.Job) (api.Report, error) {
	b.t.Helper()
	j = withTest(j)
	j.Limits.CPUTimeMS, j.Limits.WallTimeMS, j.Limits.Memory, j.Limits.Output = 100, 500, 64<<20, 1<<20
	j.Repeats.Policy = api.Single
	complete, err := intake.Complete(b.config, j)
	if err != nil {
		b.t.Fatal(err)
	}
	task, err := judge.NewTask(complete, api.ProgramName, func(f api.File) (string, error) { return f.Part, nil })
	if err != nil {
		b.t.Fatal(err)
	}
	return judge.Run(b.t.Context(), b.worker, task, func(api.TestReport) {})
}

func (b bench) file(text []byte) api.File {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "program")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		b.t.Fatal(err)
	}
	return api.File{Part: path}
}

// torn is the number of variants that are judged of each program.
const torn = 250

// TestTornPrograms judges ELF files whose headers, and for the dynamic one the
// name of its loader and its dynamic section, were changed at random. The
// result of the kernel and the loader is always a verdict about the program.
func TestTornPrograms(t *testing.T) {
	for _, static := range []bool{true, false} {
		t.Run(fmt.Sprintf("static=%t", static), func(t *testing.T) {
			whole, err := os.ReadFile(testkit.CompileC(t, "testdata/hello.c", static))
			if err != nil {
				t.Fatal(err)
			}
			b := newBench(t)
			if r, err := b.judge(api.Job{Program: b.file(whole)}); err != nil || r.Verdict != api.Accepted {
				t.Fatalf("the whole program: %s, %v", r.Verdict, err)
			}
			regions := headersOf(t, whole)
			chance := rand.New(rand.NewPCG(19, uint64(len(regions))))
			seen := map[api.Verdict]int{}
			for i := range torn {
				r, err := b.judge(api.Job{Program: b.file(tear(chance, whole, regions))})
				if err != nil || r.Verdict == api.InternalError || r.Verdict == "" {
					t.Fatalf("variant %d: %s, %v", i, r.Verdict, err)
				}
				seen[r.Verdict]++
			}
			t.Logf("verdicts %v", seen)
			if seen[api.NotExecutable] == 0 || seen[api.RuntimeError] == 0 || seen[api.Accepted] == 0 {
				t.Errorf("verdicts %v do not include BAD, RTE and AC: the tearing is too strong or too weak", seen)
			}
		})
	}
}

// region is a part of a file that is used to load it.
type region struct{ from, to int }

func headersOf(t *testing.T, program []byte) []region {
	t.Helper()
	f, err := elf.NewFile(strings.NewReader(string(program)))
	if err != nil {
		t.Fatal(err)
	}
	const header, entry = 64, 56 // of ELF64, bytes
	list := []region{{0, header}, {header, header + entry*len(f.Progs)}}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			list = append(list, region{int(p.Off), int(p.Off + p.Filesz)})
		}
	}
	return list
}

// tear changes one to four bytes of the regions, or truncates the file.
func tear(chance *rand.Rand, whole []byte, regions []region) []byte {
	program := slices.Clone(whole)
	numbers := []uint64{0, 1, 7, 0xfff, 0x1000, 1 << 31, 1 << 40, 1 << 47, 1<<63 - 1, 1 << 63, ^uint64(0),
		^uint64(0xfff)}
	for range 1 + chance.IntN(4) {
		r := regions[chance.IntN(len(regions))]
		at := r.from + chance.IntN(r.to-r.from)
		switch chance.IntN(4) {
		case 0:
			program[at] = byte(chance.Uint32())
		case 1:
			program[at] ^= 1 << chance.IntN(8)
		default:
			at -= at % 8
			binary.LittleEndian.PutUint64(program[at:], numbers[chance.IntN(len(numbers))])
		}
	}
	if chance.IntN(10) == 0 {
		program = program[:chance.IntN(min(len(program), 8<<10))]
	}
	return program
}

// TestOddScripts checks #! lines with missing interpreters, loops, or files that are not programs.
func TestOddScripts(t *testing.T) {
	b := newBench(t)
	tests := []struct {
		name, text string
		want       api.Verdict
		message    string // part of the message
	}{
		{"works", "#!/bin/sh\nexit 0\n", api.Accepted, ""},
		{"no newline", "#!/bin/true", api.Accepted, ""},
		{"space before the interpreter", "#!  \t/bin/true\n", api.Accepted, ""},
		{"argument of the interpreter", "#!/bin/sh -e\nfalse\n", api.RuntimeError, ""},
		{"empty file", "", api.NotExecutable, "neither an ELF program for this machine nor a script"},
		{"no #! line", "exit 0\n", api.NotExecutable, "neither an ELF program"},
		{"nothing behind #!", "#!\n", api.NotExecutable, "neither an ELF program"},
		{"only blanks behind #!", "#!   \n", api.NotExecutable, "neither an ELF program"},
		{"no interpreter", "#!/no/such/interpreter\n", api.NotExecutable, "does not exist in the sandbox"},
		{"CR LF", "#!/bin/sh\r\nexit 0\r\n", api.NotExecutable, "CR LF"},
		{"a language that the host lacks", "#!/usr/local/bin/racket9.99\n", api.InternalError,
			`this host has no "/usr/local/bin/racket9.99"; install it`},
		{"the same through env", "#!/usr/bin/env racket9.99\n", api.InternalError,
			`this host has no "racket9.99"; install it`},
		{"what nobody has, through env", "#!/usr/bin/env none\n", api.RuntimeError, ""},
		{"the same and CR LF", "#!/usr/local/bin/racket9.99\r\n", api.NotExecutable, "CR LF"},
		{"the same elsewhere", "#!/box/racket9.99\n", api.NotExecutable, "does not exist in the sandbox"},
		{"itself", "#!./program\n", api.NotExecutable, "form a loop"},
		{"itself by another name", "#!/box/work/./program\n", api.NotExecutable, ""},
		{"a folder", "#!/box\n", api.NotExecutable, "no permission to execute"},
		{"a folder that it does not see", "#!/bin\n", api.NotExecutable, "does not exist in the sandbox"},
		{"a device", "#!/dev/null\n", api.NotExecutable, "no permission to execute"},
		{"the launcher", "#!/proc/self/exe\n", api.NotExecutable, ""},
		{"a file that is no program", "#!/usr/share/common-licenses/GPL-3\n", api.NotExecutable, ""},
		{"name longer than the kernel reads", "#!/" + strings.Repeat("a", 4<<10) + "\n", api.NotExecutable,
			"neither an ELF program"},
		{"long argument", "#!/bin/true " + strings.Repeat("a", 4<<10) + "\n", api.Accepted, ""},
		// The kernel ends the name there: it runs /bin/tr, which requires arguments.
		{"NUL in the name", "#!/bin/tr\x00ue\n", api.RuntimeError, ""},
		{"NUL behind the name", "#!/bin/true\x00\n", api.Accepted, ""},
		{"byte order mark", "\ufeff#!/bin/sh\n", api.NotExecutable, "neither an ELF program"},
		{"terminal escapes", "#!/\x1b[2J\x1b]0;x\x07\n", api.NotExecutable, "does not exist in the sandbox"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := b.judge(api.Job{Program: b.file([]byte(tt.text))})
			if err != nil {
				t.Fatal(err)
			}
			got := r.Tests[0]
			if got.Verdict != tt.want || !strings.Contains(got.Message, tt.message) ||
				(got.Verdict == api.NotExecutable || got.Verdict == api.InternalError) != (got.Message != "") {
				t.Errorf("%s %q, want %s %q", got.Verdict, got.Message, tt.want, tt.message)
			}
			if strings.ContainsFunc(got.Message, func(r rune) bool { return r < ' ' }) {
				t.Errorf("message %q has control characters", got.Message)
			}
		})
	}
}

// TestCutPrograms checks that a truncated ELF file is not executable, unless only data that the kernel does not load is
// missing.
func TestCutPrograms(t *testing.T) {
	for _, static := range []bool{true, false} {
		t.Run(fmt.Sprintf("static=%t", static), func(t *testing.T) {
			whole, err := os.ReadFile(testkit.CompileC(t, "testdata/hello.c", static))
			if err != nil {
				t.Fatal(err)
			}
			end := loadedEnd(t, whole)
			b := newBench(t)
			for _, tt := range []struct {
				size int
				want api.Verdict
			}{
				{4, api.NotExecutable}, {63, api.NotExecutable}, {64, api.NotExecutable}, {100, api.NotExecutable},
				{4096, api.NotExecutable}, {end / 2, api.NotExecutable}, {end - 1, api.NotExecutable},
				{end, api.Accepted}, {len(whole), api.Accepted},
			} {
				r, err := b.judge(api.Job{Program: b.file(whole[:tt.size])})
				if err != nil || r.Verdict != tt.want {
					t.Errorf("%d of %d bytes: %s, %v, want %s", tt.size, len(whole), r.Verdict, err, tt.want)
				}
			}
		})
	}
}

// loadedEnd returns the end of the part of a program that the kernel loads.
func loadedEnd(t *testing.T, program []byte) int {
	t.Helper()
	f, err := elf.NewFile(strings.NewReader(string(program)))
	if err != nil {
		t.Fatal(err)
	}
	end := uint64(0)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			end = max(end, p.Off+p.Filesz)
		}
	}
	return int(end)
}

// TestLackingCommands checks that a missing command is not a fault of the program.
func TestLackingCommands(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"python9.99", "/usr/bin/python9.99", "./other"} {
		r, err := b.judge(api.Job{Program: b.file([]byte("print(1)\n")), Command: []string{name, "{program}"}})
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("judge test \"1\": execute %q: no such file or directory; install it in", name)
		if r.Verdict != api.InternalError || !strings.HasPrefix(r.Message, want) {
			t.Errorf("%s: %s %q, want IE %q", name, r.Verdict, r.Message, want)
		}
	}
}

// TestScriptsInACircle needs a second file. Only the program is executable, so a chain ends at the first file that is
// not.
func TestScriptsInACircle(t *testing.T) {
	b := newBench(t)
	r, err := b.judge(api.Job{Program: b.file([]byte("#!./other\n")),
		Files: map[string]api.File{"other": b.file([]byte("#!./program\n"))}})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Tests[0]; got.Verdict != api.NotExecutable ||
		!strings.Contains(got.Message, "no permission to execute") {
		t.Errorf("%s %q", got.Verdict, got.Message)
	}
}

// TestLongestCommand checks that the longest commands that intake accepts can be executed with any stack limit, of
// which the kernel uses a quarter for arguments.
func TestLongestCommand(t *testing.T) {
	b := newBench(t)
	whole, err := os.ReadFile(testkit.CompileC(t, "testdata/hello.c", true))
	if err != nil {
		t.Fatal(err)
	}
	for _, arg := range []string{"", "a", strings.Repeat("b", 100), strings.Repeat("c", 30<<10)} {
		command := longestCommand(arg)
		for _, stack := range []units.Bytes{128 << 10, 0} { // the minimum and the default
			r, err := b.judge(api.Job{Program: b.file(whole), Command: command, Limits: api.Limits{Stack: stack}})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != api.Accepted {
				t.Errorf("%d arguments of %d bytes, stack %d: %s %q", len(command)-1, len(arg), stack, r.Verdict,
					r.Tests[0].Message)
			}
		}
	}
}

// longestCommand repeats an argument as often as intake accepts it.
func longestCommand(arg string) []string {
	fits := func(n int) bool {
		_, err := intake.Complete(config.Default(),
			withTest(api.Job{Program: api.File{Part: "p"}, Command: commandOf(arg, n)}))
		return err == nil
	}
	n := 0
	for step := 1 << 17; step > 0; step /= 2 {
		if fits(n + step) {
			n += step
		}
	}
	return commandOf(arg, n)
}

func commandOf(arg string, n int) []string {
	return append([]string{"{program}"}, slices.Repeat([]string{arg}, n)...)
}

// TestFullWorkingDirectory checks that the files that intake accepts fit into the working directory.
func TestFullWorkingDirectory(t *testing.T) {
	c := config.Default()
	c.Sandbox.WorkSize, c.Sandbox.WorkInodes = 64<<10, 16
	b := newBenchIn(t, c)
	script := "#!/bin/sh\n"
	j := api.Job{Program: b.file([]byte(script)), Files: map[string]api.File{}}
	full := b.file(make([]byte, 56<<10))
	for i := range 11 {
		j.Files[fmt.Sprint(i)] = b.file(nil)
	}
	j.Files["0"], j.Files["1"] = full, b.file([]byte("x"))
	size := func(f api.File) (units.Bytes, error) {
		info, err := os.Stat(f.Part)
		return units.Bytes(info.Size()), err
	}
	if err := intake.CheckRoom(j, c.Sandbox.WorkSize, size); err != nil {
		t.Fatal(err)
	}
	if r, err := b.judge(j); err != nil || r.Verdict != api.Accepted {
		t.Errorf("%s, %v", r.Verdict, err)
	}
	j.Files["11"] = b.file(nil)
	if _, err := intake.Complete(c, withTest(j)); err == nil {
		t.Error("a file without an inode was let through")
	}
}

func withTest(j api.Job) api.Job {
	j.Tests = []api.Test{{Name: "1"}}
	return j
}
