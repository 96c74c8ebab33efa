package checker_test

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/engine/checker"
)

func parse(t testing.TB, kind string) checker.Checker {
	t.Helper()
	c, err := checker.Parse(kind)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func check(t testing.TB, kind, output, answer string) api.CheckReport {
	t.Helper()
	got, err := parse(t, kind).Check(t.Context(), strings.NewReader(output), strings.NewReader(answer))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestKinds checks that the example of every kind can be parsed, and that the kind is described in the package
// documentation and listed in the usage.
func TestKinds(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range checker.Kinds() {
		form := k.Name
		if k.Argument != "" {
			form += ":" + k.Argument
		}
		if got := parse(t, k.Example).String(); got != k.Example {
			t.Errorf("%s: parsed as %s", k.Example, got)
		}
		if !strings.Contains(string(doc), "//   - "+form+": ") {
			t.Errorf("doc.go does not explain %s", form)
		}
		if !strings.Contains(checker.Usage(), form) {
			t.Errorf("usage %q lacks %s", checker.Usage(), form)
		}
	}
	parse(t, checker.DefaultKind)
}

func TestParse(t *testing.T) {
	tests := []struct{ kind, wantErr string }{
		{"tokens", ""},
		{"exact", ""},
		{"lines", ""},
		{"kattis", ""},
		{"dmoj", ""},
		{"words", ""},
		{"float:1e-6", ""},
		{"float:0.000001", ""},
		{"float:+.5", ""},
		{"float:100", ""},
		{"", `unknown checker "": use tokens, exact, lines, words, kattis, dmoj or float:EPS such as float:1e-6`},
		{"Tokens", `unknown checker "Tokens": use tokens, exact, lines, words, kattis, dmoj or float:EPS such as float:1e-6`},
		{"tokens:", `unknown checker "tokens:": use tokens, exact, lines, words, kattis, dmoj or float:EPS such as float:1e-6`},
		{"float", `unknown checker "float": use tokens, exact, lines, words, kattis, dmoj or float:EPS such as float:1e-6`},
		{"float:", `parse checker "float:": tolerance "" is not a decimal number such as 1e-6`},
		{"float:0x1p-3", `parse checker "float:0x1p-3": tolerance "0x1p-3" is not a decimal number such as 1e-6`},
		{"float:nan", `parse checker "float:nan": tolerance "nan" is not a decimal number such as 1e-6`},
		{"float:inf", `parse checker "float:inf": tolerance "inf" is not a decimal number such as 1e-6`},
		{"float:0", `parse checker "float:0": tolerance "0" must be above 0 and within the range of a float64`},
		{"float:-1e-6",
			`parse checker "float:-1e-6": tolerance "-1e-6" must be above 0 and within the range of a float64`},
		{"float:1e-400",
			`parse checker "float:1e-400": tolerance "1e-400" must be above 0 and within the range of a float64`},
		{"float:1e400",
			`parse checker "float:1e400": tolerance "1e400" must be above 0 and within the range of a float64`},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			c, err := checker.Parse(tt.kind)
			got, gotErr := "", ""
			if err != nil {
				gotErr = err.Error()
			} else {
				got = c.String()
			}
			want := tt.kind
			if tt.wantErr != "" {
				want = ""
			}
			if diff := cmp.Diff([]string{want, tt.wantErr}, []string{got, gotErr}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	const alphabet, digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrstuvwxyz",
		"123456789012345678901234567890123456789012345"
	tests := []struct{ name, kind, output, answer, want string }{
		{"both empty", "tokens", "", "", ""},
		{"empty and white space", "tokens", " \r\n\t\v\f", "", ""},
		{"equal", "tokens", "1 2\n3\n", "1 2\n3\n", ""},
		{"other white space", "tokens", "\n1\t2\r\n3", "1 2 3\n", ""},
		{"other case", "tokens", "yes NO\n", "YES no\n", ""},
		{"case of ASCII only", "tokens", "É", "é", `token 1, offset 1: output "É", answer "é"`},
		{"not a letter", "tokens", "@[", "`{", "token 1, offset 0: output \"@[\", answer \"`{\""},
		{"value", "tokens", "1 2 4\n", "1 2 3\n", `token 3, offset 4: output "4", answer "3"`},
		{"value after other white space", "tokens", "1\r\n2\r\n4\r\n", "1\n2\n3\n",
			`token 3, offset 6 in the output, 4 in the answer: output "4", answer "3"`},
		{"token too short", "tokens", "ab cd", "ab cde", `token 2, offset 5: output "cd", answer "cde"`},
		{"token too long", "tokens", "ab cde", "ab cd", `token 2, offset 5: output "cde", answer "cd"`},
		{"missing token", "tokens", "1\n", "1\n2\n", `token 2, offset 2: output ends, answer "2"`},
		{"missing token, no newline", "tokens", "1", "1 2",
			`token 2, offset 1 in the output, 2 in the answer: output ends, answer "2"`},
		{"trailing token", "tokens", "1 2", "1\n", `token 2, offset 2: output "2", answer ends`},
		{"nothing printed", "tokens", "", "1\n", `token 1, offset 0: output ends, answer "1"`},
		{"joined tokens", "tokens", "12", "1 2", `token 1, offset 1: output "12", answer "1"`},
		{"NUL is an ordinary byte", "tokens", "1\x00", "1", `token 1, offset 1: output "1\x00", answer "1"`},
		{"no-break space is no white space", "tokens", "1\u00a02", "1 2",
			`token 1, offset 1: output "1\u00a02", answer "1"`},
		{"invalid UTF-8 and control characters", "tokens", "\xff\x1b[31m\u202e", "1",
			`token 1, offset 0: output "\xff\x1b[31m\u202e", answer "1"`},
		{"long token, equal", "tokens", long, strings.ToUpper(long) + "\n", ""},
		{"long token, other end", "tokens", "a " + long + "y", "a " + long + "z",
			`token 2, offset 200002: output …"xxxxxxxxxxxxxxxxxxxxxxxy", answer …"xxxxxxxxxxxxxxxxxxxxxxxz"`},
		{"long token, other middle", "tokens", long + "y" + long, long + "z" + long,
			`token 1, offset 200000: output …"xxxxxxxxxxxxxxxxxxxxxxxyxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"…, ` +
				`answer …"xxxxxxxxxxxxxxxxxxxxxxxzxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"…`},
		// The end of the output moves the window while the token is compared.
		{"long last token without newline", "tokens", strings.Repeat("a", 30) + " " + alphabet,
			strings.Repeat("a", 30) + " " + alphabet + "\n", ""},
		{"long last token without newline, other case", "tokens", "1\n" + alphabet + " " + alphabet,
			"1\n" + strings.ToLower(alphabet) + " " + alphabet + "\n", ""},
		{"long last number without newline", "float:1e-6", strings.Repeat("1", 30) + " " + digits,
			strings.Repeat("1", 30) + " " + digits + ".0\n", ""},
		{"long token against short", "tokens", "x", long,
			`token 1, offset 1: output "x", answer "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"…`},

		{"both empty", "exact", "", "", ""},
		{"equal", "exact", "a b\n\x00", "a b\n\x00", ""},
		{"CR LF", "exact", "a\r\n", "a\n", `line 1, offset 1: output "a\r\n", answer "a\n"`},
		{"missing newline", "exact", "1\n2", "1\n2\n", `line 2, offset 3: output "1\n2", answer "1\n2\n"`},
		{"extra newline", "exact", "1\n\n", "1\n", `line 2, offset 2: output "1\n\n", answer "1\n"`},
		{"case", "exact", "Yes\n", "yes\n", `line 1, offset 0: output "Yes\n", answer "yes\n"`},
		{"nothing printed", "exact", "", "1\n", `line 1, offset 0: output "", answer "1\n"`},
		{"something printed", "exact", "1\n", "", `line 1, offset 0: output "1\n", answer ""`},

		{"both empty", "lines", "", "", ""},
		{"empty and empty lines", "lines", "\n \r\n\t", "", ""},
		{"CR LF", "lines", "a b\r\nc\r\n", "a b\nc\n", ""},
		{"missing newline", "lines", "a\nb", "a\nb\n", ""},
		{"trailing white space and lines", "lines", "a \t\nb\n\n \n", "a\nb", ""},
		{"empty line between", "lines", "a\n\nb\n", "a\n \nb\n", ""},
		{"empty line missing", "lines", "a\nb\n", "a\n\nb\n", `line 2, offset 2: output "b", answer ""`},
		{"leading space", "lines", " a\n", "a\n",
			`line 1, offset 1 in the output, 0 in the answer: output " a", answer "a"`},
		{"inner space", "lines", "a  b\n", "a b\n",
			`line 1, offset 3 in the output, 2 in the answer: output "a  b", answer "a b"`},
		{"inner tab", "lines", "a\tb\n", "a b\n", `line 1, offset 2: output "a\tb", answer "a b"`},
		{"case", "lines", "a\nB\n", "a\nb\n", `line 2, offset 2: output "B", answer "b"`},
		{"line too long", "lines", "a b \n", "a\n",
			`line 1, offset 2 in the output, 1 in the answer: output "a b ", answer "a"`},
		{"line missing", "lines", "a", "a\n\n\nb\n",
			`line 4, offset 1 in the output, 4 in the answer: output ends, answer "b"`},
		{"line extra", "lines", "a\n\nb", "a",
			`line 3, offset 3 in the output, 1 in the answer: output "b", answer ends`},
		{"NUL is no white space", "lines", "a\x00\n", "a\n", `line 1, offset 1: output "a\x00", answer "a"`},
		{"long white space", "lines", "a" + strings.Repeat(" ", 200_000) + "\nb", "a\nb", ""},
		{"long white space, then more", "lines", "a" + strings.Repeat(" ", 200_000) + "b", "a\nb",
			`line 1, offset 200001 in the output, 1 in the answer: output …"                       b", answer "a"`},

		{"both empty", "words", "\n \n", "", ""},
		{"other white space", "words", " 1\t2\r\n\n3\n\n", "1  2\n\n 3", ""},
		{"case", "words", "yes\n", "YES\n", `token 1, offset 0: output "yes", answer "YES"`},
		{"empty line", "words", "1\n\n2\n", "1\n2\n",
			`line break before token 2, offset 3 in the output, 2 in the answer: output "1\n\n2\n", answer "1\n2\n"`},
		{"empty line before the first token", "words", "\n1\n", "1\n",
			`line break before token 1, offset 1 in the output, 0 in the answer: output "\n1\n", answer "1\n"`},
		{"line break missing", "words", "1 2\n", "1\n2\n",
			`line break before token 2, offset 2: output "1 2\n", answer "1\n2\n"`},
		{"token missing", "words", "1 2\n", "1 2\n\n3\n", `token 3, offset 4 in the output, 5 in the answer: output ends, ` +
			`answer "3"`},
		{"many lines", "words", strings.Repeat("1 2\n", 50_000) + "\n3", strings.Repeat("1  2\n", 50_000) + "\n3 ", ""},

		{"both empty", "dmoj", "\n \n", "", ""},
		{"other white space", "dmoj", "\n 1\t2\r\n\n3", "1 2\n3\n", ""},
		{"case", "dmoj", "yes\n", "YES\n", `token 1, offset 0: output "yes", answer "YES"`},
		{"line break too many", "dmoj", "1\n2\n", "1 2\n",
			`line break before token 2, offset 2: output "1\n2\n", answer "1 2\n"`},
		{"line break missing", "dmoj", "a 1 2\n", "a 1 \n 2\n",
			`line break before token 3, offset 4 in the output, 6 in the answer: output "a 1 2\n", answer "a 1 \n 2\n"`},
		{"line breaks of another system", "dmoj", "1\r2 3\r", "1\n2 3\n", ""},
		{"CR is a line break", "dmoj", "1\r2", "1 2", `line break before token 2, offset 2: output "1\r2", answer "1 2"`},
		{"line break after other white space", "dmoj", "1  \n2", "1\n  2", ""},
		{"token missing", "dmoj", "1 2\n", "1 2\n3\n",
			`token 3, offset 4: output ends, answer "3"`},

		{"equal", "float:1e-6", "1.5 x", "1.5 X", ""},
		{"other spelling", "float:1e-6", "+1500e-3 .5 1. 1.e0 -0", "1.5 0.50 1 1 0.0", ""},
		{"integer and float", "float:1e-6", "1", "1.0000005", ""},
		{"zeros behind the point", "float:1e-6", "0.00123 123.e-05 -.0500", "1.23e-3 0.00123 -5E-2", ""},
		{"zeros behind the point count", "float:1e-6", "0.05", "0.5", `token 1, offset 2: output "0.05", answer "0.5"`},
		{"absolute, on the bound", "float:1e-6", "0.100001", "0.1", ""},
		{"absolute, above the bound", "float:1e-6", "0.1000010000000000000000000000001", "0.1",
			`token 1, offset 3: output "0.1000010000000000000000000000001", answer "0.1"`},
		{"relative, on the bound", "float:1e-6", "1000001", "1000000", ""},
		{"relative, to the answer's size", "float:1e-6", "1000001.000001", "1000000",
			`token 1, offset 6: output "1000001.000001", answer "1000000"`},
		{"relative, negative", "float:1e-6", "-1000000.9", "-1000000", ""},
		{"sign", "float:1e-6", "-1", "1", `token 1, offset 0: output "-1", answer "1"`},
		{"large integers", "float:1e-18", "9007199254740993", "9007199254740992",
			`token 1, offset 15: output "9007199254740993", answer "9007199254740992"`},
		{"beyond float64, equal", "float:1e-6", "10.0e399", "1E400", ""},
		{"beyond float64, near", "float:1e-6", "1.0000001e400", "1e400", ""},
		{"beyond float64, far", "float:1e-6", "1.1e400", "1e400",
			`token 1, offset 1: output "1.1e400", answer "1e400"`},
		{"beyond float64, other sign", "float:1e-6", "-1e400", "1e400",
			`token 1, offset 0: output "-1e400", answer "1e400"`},
		{"huge exponents, near", "float:1e-6", "1.0000001e999999999", "1e999999999", ""},
		{"huge exponents, far", "float:1e300", "1e999999999", "1e99999999",
			`token 1, offset 10: output "1e999999999", answer "1e99999999"`},
		{"exponent beyond an int64", "float:1e-6", "1e99999999999999999999999", "0",
			`token 1, offset 0: output "1e99999999999999999999999", answer "0"`},
		{"tiny against zero", "float:1e-6", "1e-999999999", "0", ""},
		{"tiny against tiny", "float:1e-300", "-1e-999999999", "1e-400", ""},
		{"tiny tolerance", "float:1e-320", "1.00000000000000000000000000001e300", "1e300",
			`token 1, offset 1: output "1.00000000000000000000000000001e300", answer "1e300"`},
		{"not a number: infinity", "float:1e-6", "inf", "1", `token 1, offset 0: output "inf", answer "1"`},
		{"not a number: NaN", "float:1e-6", "nan", "1", `token 1, offset 0: output "nan", answer "1"`},
		{"not a number: hexadecimal", "float:1e-6", "0x10", "16", `token 1, offset 0: output "0x10", answer "16"`},
		{"not a number: a point", "float:1e-6", ".", "0", `token 1, offset 0: output ".", answer "0"`},
		{"not a number: no exponent", "float:1e-6", "1e", "1", `token 1, offset 1: output "1e", answer "1"`},
		{"not a number: something behind", "float:1e-6", "1.0,", "1.0",
			`token 1, offset 3: output "1.0,", answer "1.0"`},
		{"answer is text", "float:1e-6", "1.0", "1.0,", `token 1, offset 3: output "1.0", answer "1.0,"`},
		{"answer is text that looks near", "float:1e-6", "NaN INF 0X10", "nan inf 0x10", ""},
		{"missing", "float:1e-6", "1.0", "1 2",
			`token 2, offset 3 in the output, 2 in the answer: output ends, answer "2"`},
	}
	for _, tt := range tests {
		t.Run(tt.kind+"/"+tt.name, func(t *testing.T) {
			got := check(t, tt.kind, tt.output, tt.answer)
			want := api.CheckReport{Verdict: api.Accepted}
			if tt.want != "" {
				want = api.CheckReport{Verdict: api.WrongAnswer, Message: tt.want}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if !utf8.ValidString(got.Message) {
				t.Errorf("message is not valid UTF-8: %q", got.Message)
			}
		})
	}
}

func TestCheckErrors(t *testing.T) {
	text := func(s string) func() io.Reader { return func() io.Reader { return strings.NewReader(s) } }
	breaks := func(s string) func() io.Reader {
		return func() io.Reader {
			return io.MultiReader(strings.NewReader(s), iotest.ErrReader(errors.New("disk on fire")))
		}
	}
	running := t.Context()
	cancelled, cancel := context.WithCancel(running)
	cancel()
	tests := []struct {
		name           string
		ctx            context.Context
		output, answer func() io.Reader
		want           string
	}{
		{"output", running, breaks("1 2"), text("1 25"), "read output: disk on fire"},
		{"answer", running, text("1 25"), breaks("1 2"), "read answer: disk on fire"},
		{"no progress", running, func() io.Reader { return stuck{} }, text("1"),
			"read output: multiple Read calls return no data or error"},
		{"context", cancelled, text("1"), text("1"), "read output: context canceled"},
	}
	for _, kind := range []string{"tokens", "exact", "lines", "float:1e-6"} {
		for _, tt := range tests {
			t.Run(kind+"/"+tt.name, func(t *testing.T) {
				report, err := parse(t, kind).Check(tt.ctx, tt.output(), tt.answer())
				got := []any{report, ""}
				if err != nil {
					got[1], _, _ = strings.Cut(err.Error(), "\n")
				}
				if diff := cmp.Diff([]any{api.CheckReport{}, tt.want}, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	const size = 8 << 20
	for _, kind := range []string{"tokens", "exact", "lines", "float:1e-6"} {
		for _, pattern := range []string{"7", " ", "\n", "1 "} {
			t.Run(kind+"/"+pattern, func(t *testing.T) {
				c := parse(t, kind)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				got, err := c.Check(t.Context(), endless(pattern, size), endless(pattern, size))
				runtime.ReadMemStats(&after)
				if err != nil || got.Verdict != api.Accepted {
					t.Fatalf("got %v, %v", got, err)
				}
				if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
					t.Errorf("allocated %d bytes for two sides of %d", n, size)
				}
			})
		}
	}
}

// stuck is a reader that never returns data or an error.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// endless returns a reader that repeats a pattern up to a size without storing it.
func endless(pattern string, size int64) io.Reader {
	return io.LimitReader(&repeater{pattern: []byte(strings.Repeat(pattern, 1+64<<10/len(pattern)))}, size)
}

type repeater struct {
	pattern []byte
	at      int
}

func (r *repeater) Read(p []byte) (int, error) {
	n := copy(p, r.pattern[r.at:])
	r.at = (r.at + n) % len(r.pattern)
	return n, nil
}
