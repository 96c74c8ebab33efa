package checker

import (
	"bytes"
	"context"
	"io"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// Each fuzz target compares a checker with a short implementation that needs the whole text in memory, with a buffer so
// small that every token crosses it, and with readers that return any number of bytes.

func FuzzTokens(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, output, answer []byte) {
		want := equal(lowered(fields(output)), lowered(fields(answer)))
		hold(t, ignoreCase.compare, output, answer, want)
	})
}

func FuzzDMOJ(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, output, answer []byte) {
		lines := func(text []byte) (all []string) {
			for line := range bytes.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
				if words := fields(line); len(words) > 0 {
					all = append(all, strings.Join(words, " "))
				}
			}
			return all
		}
		hold(t, tokens{same: bytes.Equal, prefix: prefix, lines: anyBreaks}.compare, output, answer,
			equal(lines(output), lines(answer)))
	})
}

func FuzzWords(f *testing.F) {
	seed(f)
	for _, s := range [][2]string{{"1\n\n2", "1\n2"}, {"\n1", "1"}, {" 1\t2\n\n", "1  2"}, {"1\r\n2", "1\n2\n"}} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, output, answer []byte) {
		lines := func(text []byte) (all []string) {
			for _, line := range trimmed(text) {
				all = append(all, strings.Join(strings.FieldsFunc(line, func(r rune) bool {
					return strings.ContainsRune(" \t\v\f\r", r)
				}), " "))
			}
			return all
		}
		hold(t, inLines.compare, output, answer, equal(lines(output), lines(answer)))
	})
}

func FuzzDMOJFlags(f *testing.F) {
	seed(f)
	for _, s := range [][2]string{{"b 1\na  1", "a 1\nb 1\n"}, {"a\n \n", "a\n"}, {"a\ra\n", "a\n"}, {"1 2 2", "2 1 2"},
		{"1 2", "12"}, {"bA", "ab"}, {" a  b\n\nc", "a  b\nc \n"}} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, output, answer []byte) {
		lines := func(text []byte) (all []string) {
			for line := range bytes.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
				all = append(all, strings.Join(fields(line), " "))
			}
			slices.Sort(all)
			return all
		}
		inOrder := func(text []byte) (all []string) {
			for line := range bytes.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
				all = append(all, strings.Trim(string(line), " \t\v\f"))
			}
			return all
		}
		words := func(text []byte) []string {
			all := fields(text)
			slices.Sort(all)
			return all
		}
		letters := func(text []byte) []string {
			all := []rune(strings.Join(lowered(fields(text)), ""))
			slices.Sort(all)
			return []string{string(all)}
		}
		for _, x := range []struct {
			flag     string
			elements func([]byte) []string
		}{{"sorted", lines}, {"unordered", words}, {"easy", letters}, {"linecount", inOrder}} {
			compare, err := parseDMOJ("", []string{x.flag})
			if err != nil {
				t.Fatal(err)
			}
			hold(t, compare, output, answer, equal(x.elements(output), x.elements(answer)))
		}
	})
}

func FuzzExact(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, output, answer []byte) {
		hold(t, compareExact, output, answer, bytes.Equal(output, answer))
	})
}

func FuzzLines(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, output, answer []byte) {
		hold(t, compareLines, output, answer, equal(trimmed(output), trimmed(answer)))
	})
}

func FuzzFloat(f *testing.F) {
	seed(f)
	for _, s := range [][2]string{{"1.0000001", "1"}, {"1e-7 .5", "0 0.5"}, {"1e400", "10e399"}, {"-0", "0."},
		{"1.e+0", "1E-0"}, {"1e", "1"}, {"nan", "1"}, {"0x1", "1"}} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	compare, err := parseFloat("1e-6", nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, output, answer []byte) {
		o, a := fields(output), fields(answer)
		want := len(o) == len(a)
		for i := 0; i < len(o) && want; i++ {
			// The reference computes 10^exponent, and the buffer limits the length of a number.
			if len(o[i]) >= smallBuffer || len(a[i]) >= smallBuffer || wideExponent.MatchString(o[i]+" "+a[i]) {
				return
			}
			want = nearOracle(o[i], a[i])
		}
		hold(t, compare, output, answer, want)
	})
}

// FuzzParse checks that Parse either returns the named kind or an error that quotes it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"tokens", "exact", "lines", "float:1e-6", "float:", "float:1e-400", "float:.5E+0",
		"float:nan", "float:0x1p1", "float:1e99999999999999999999", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, kind string) {
		c, err := Parse(kind)
		if err != nil {
			if !strings.Contains(err.Error(), strconv.Quote(kind)) {
				t.Errorf("error %v does not name %q", err, kind)
			}
			return
		}
		if c.String() != kind {
			t.Errorf("%q became %q", kind, c)
		}
		if eps, ok := strings.CutPrefix(kind, "float:"); ok {
			if f, err := strconv.ParseFloat(eps, 64); err != nil || f <= 0 {
				t.Errorf("tolerance %q is %v, %v", eps, f, err)
			}
		}
	})
}

const smallBuffer = 16

func seed(f *testing.F) {
	for _, s := range [][2]string{
		{"", ""}, {"1 2\n3", "1\r\n2 3\n"}, {"Yes", "yES \n"}, {"a\x00", "a"}, {"a  \n\n", "a"}, {"a\n\nb", "a\nb"},
		{strings.Repeat("x", 40), strings.Repeat("X", 40)}, {"\v\f", " "}, {"a" + strings.Repeat(" ", 40) + "b", "a b"},
	} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
}

func hold(t *testing.T, compare func(output, answer *source) *difference, output, answer []byte, want bool) {
	t.Helper()
	readers := map[string]func(io.Reader) io.Reader{
		"whole":      func(r io.Reader) io.Reader { return r },
		"bytewise":   iotest.OneByteReader,
		"with error": iotest.DataErrReader,
	}
	for name, wrap := range readers {
		out := newSource(context.Background(), "output", wrap(bytes.NewReader(output)), make([]byte,
			smallBuffer+lookback))
		ans := newSource(context.Background(), "answer", bytes.NewReader(answer), make([]byte, smallBuffer+lookback))
		diff := compare(out, ans)
		if got := diff == nil; got != want {
			t.Fatalf("%s: got accepted=%v, want %v", name, got, want)
		}
		if diff == nil {
			continue
		}
		message := diff.describe(out, ans)
		if !utf8.ValidString(message) || len(message) > 1000 || out.offset() > int64(len(output)) ||
			ans.offset() > int64(len(answer)) {
			t.Fatalf("%s: bad message %q", name, message)
		}
	}
}

func fields(text []byte) []string {
	return strings.FieldsFunc(latin1(text), func(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r", r) })
}

// latin1 returns one rune for each byte, so that package strings handles bytes.
func latin1(text []byte) string {
	runes := make([]rune, len(text))
	for i, c := range text {
		runes[i] = rune(c)
	}
	return string(runes)
}

func lowered(tokens []string) []string {
	for i, s := range tokens {
		tokens[i] = strings.Map(func(r rune) rune {
			if 'A' <= r && r <= 'Z' {
				return r + 32
			}
			return r
		}, s)
	}
	return tokens
}

func trimmed(text []byte) []string {
	lines := strings.Split(latin1(text), "\n")
	for i, s := range lines {
		lines[i] = strings.TrimRight(s, " \t\v\f\r")
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

var (
	numberGrammar = regexp.MustCompile(`^[+-]?([0-9]*\.[0-9]+|[0-9]+\.|[0-9]+)([Ee][+-]?[0-9]+)?$`)
	wideExponent  = regexp.MustCompile(`[eE][+-]?[0-9]{5}`)
)

func nearOracle(output, answer string) bool {
	if !numberGrammar.MatchString(answer) {
		return equal(lowered([]string{output}), lowered([]string{answer}))
	}
	if !numberGrammar.MatchString(output) {
		return false
	}
	o, _ := new(big.Rat).SetString(output)
	a, _ := new(big.Rat).SetString(answer)
	bound := new(big.Rat).Abs(a)
	if one := big.NewRat(1, 1); bound.Cmp(one) < 0 {
		bound = one
	}
	bound.Mul(bound, big.NewRat(1, 1_000_000))
	difference := new(big.Rat).Sub(o, a)
	return difference.Abs(difference).Cmp(bound) <= 0
}
