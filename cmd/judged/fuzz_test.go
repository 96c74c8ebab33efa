package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"judged/internal/api"
	"judged/internal/jobs/intake"
)

// FuzzFlagValues checks the parsers of flags: an accepted value is parsed as written, and the error for a refused value
// names it.
func FuzzFlagValues(f *testing.F) {
	for _, s := range []string{"5", "2-5", "5-2", "0", "-1", "1-", "99999999999999999999", "+3", " 3", "a=b", "=",
		"a=b=c", "labels[\"\x1b\"]", "files[x]", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parseRepeats(s, "confirm")
		switch {
		case err != nil:
			if !strings.Contains(err.Error(), fmt.Sprintf("--repeats %q", s)) || r != (api.Repeats{}) {
				t.Errorf("%+v, error %v", r, err)
			}
		case s == "" && r != api.Repeats{Policy: "confirm"}, s != "" && (r.Min < 1 || r.Max < r.Min):
			t.Errorf("%q was parsed as %+v", s, r)
		}
		pairs, err := parsePairs("file", "NAME=PATH", []string{s})
		for name, value := range pairs {
			if name+"="+value != s || strings.Contains(name, "=") || name == "" {
				t.Errorf("%q became %q", s, pairs)
			}
		}
		if err == nil && len(pairs) != 1 {
			t.Errorf("%q became %q", s, pairs)
		}
		if told := inFlags(intake.Errors{{Field: s, Detail: "d"}}); !strings.HasSuffix(told.Error(), "d") ||
			exitCode(told) != exitUsage {
			t.Errorf("%q gives %v", s, told)
		}
	})
}

// FuzzArguments runs the command with invalid arguments. The message is always one line that is safe for a terminal.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{"x", "./\x1b[31mx", "\u202egnp.exe", "\xff\xfe", "a\nb\r\n", "\x00",
		strings.Repeat("a", 5000), "-x", "--", "../../x", "/proc/self/mem", "/dev/null", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, args := range [][]string{
			{"run", "--tests", s, "./absent"}, {"run", "--checker", s, "/dev/null"},
			{"run", "--input", "/absent/" + s, "/dev/null"},
			{"status", "--url", "http://" + s, "a b"}, {"doctor", "--explain", s + "!"},
			{"run", "--cpu-list", s + "!", "/dev/null"},
			{"!" + s}, {"submit", "--url", "ftp://x", "--", s}, {"run", "-c", "/absent/" + s, "x"},
		} {
			var out, errOut bytes.Buffer
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // no request is sent over the network
			code := (&app{in: strings.NewReader(""), out: &out, err: &errOut}).run(ctx, args)
			line := strings.TrimSuffix(errOut.String(), "\n")
			if code < exitUsage || out.Len() > 0 || !strings.HasPrefix(line, "judged: ") {
				t.Errorf("%q: exit code %d, stdout %q, stderr %q", args, code, out.String(), line)
			}
			if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q: stderr %q", args, line)
			}
		}
	})
}
