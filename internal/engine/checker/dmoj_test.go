package checker_test

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/engine/checker"
)

// TestDMOJ checks which outputs the flags of dmoj accept.
func TestDMOJ(t *testing.T) {
	const lines, tokens, letters = "the output has other lines than the answer, in any order",
		"the output has other tokens than the answer, in any order",
		"the output has other characters than the answer, or another number of one"
	long := strings.Repeat("x", 200_000)
	for _, tt := range []struct{ name, flags, output, answer, want string }{
		{"easy", "easy", "b a\nNo", "ON ba", ""},
		{"easy, one more", "easy", "aab", "ab", letters},
		{"easy, another case of another letter", "easy", "É", "é", letters},
		{"sorted", "sorted", "2  1\n\n1\r\n", "1\n 2 1", ""},
		{"sorted, order within a line", "sorted", "1 2\n", "2 1\n", lines},
		{"sorted, line of white space", "sorted", "1\n \n", "1\n", lines},
		{"sorted, twice", "sorted", "1\n1\n2\n", "1\n2\n2\n", lines},
		{"sorted, joined", "sorted", "12\n", "1 2\n", lines},
		{"sorted, long", "sorted", "a\n" + long + " b\n", long + " b\na", ""},
		{"unordered", "unordered", "2 1\n3", "3\n1 2", ""},
		{"unordered, case", "unordered", "a b", "B a", tokens},
		{"unordered, missing", "unordered", "1 1", "1", tokens},
		{"numbers", "float_tolerance 1e-2", "1.001 a\n2", "1 a\n2.0\n", ""},
		{"numbers, other lines", "float_tolerance 1e-2", "1\n2", "1 2",
			`line break before token 2, offset 2: output "1\n2", answer "1 2"`},
		{"numbers, case of words", "float_tolerance 1e-2", "1 A", "1 a", `token 2, offset 2: output "A", answer "a"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := checker.Parse("dmoj", strings.Fields(tt.flags)...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Check(t.Context(), strings.NewReader(tt.output), strings.NewReader(tt.answer))
			if err != nil || got.Message != tt.want || (got.Verdict == api.Accepted) != (tt.want == "") {
				t.Errorf("%s %q, %v; want %q", got.Verdict, got.Message, err, tt.want)
			}
		})
	}
	for _, flags := range []string{"linematches", "easy sorted", "linecount easy", "space_change_sensitive"} {
		if _, err := checker.Parse("dmoj", strings.Fields(flags)...); err == nil {
			t.Errorf("flags %q are accepted", flags)
		}
	}
}

// TestLineCount: the score is the fraction of the answer's lines that the output has in the same place.
func TestLineCount(t *testing.T) {
	c, err := checker.Parse("dmoj", "linecount")
	if err != nil {
		t.Fatal(err)
	}
	part := func(ratio float64, message string) api.CheckReport {
		return api.CheckReport{Verdict: api.Partial, Score: &ratio, Ratio: true, Message: message}
	}
	accepted := api.CheckReport{Verdict: api.Accepted}
	wrong := func(message string) api.CheckReport {
		return api.CheckReport{Verdict: api.WrongAnswer, Message: message}
	}
	// Longer than the buffers, so that words and white space are read in parts.
	long := strings.Repeat("x", 100_000) + strings.Repeat(" ", 100_000) + "y"
	for _, tt := range []struct {
		name, output, answer string
		want                 api.CheckReport
	}{
		{"equal", "a b\nc\n", "a b\nc", accepted},
		{"empty lines and ends of lines", "\r\n a b\t\r\n\n\nc", "a b\nc\n", accepted},
		{"nothing", "\n", "", accepted},
		{"a quarter", "1\n2\n3\n4\n", "0\n2\n0\n0\n",
			part(0.25, "1 of 4 lines are right; line 1 is the first that differs")},
		{"fewer lines", "1\n", "1\n2\n", part(0.5, "1 of 2 lines are right; line 2 is the first that differs")},
		{"another order", "2\n1\n", "1\n2\n", wrong("0 of 2 lines are right; line 1 is the first that differs")},
		{"no output", "", "1\n", wrong("0 of 1 lines are right; line 1 is the first that differs")},
		{"more lines", "1\n2\n3\n", "1\n2\n", wrong("the output has more lines than the answer")},
		{"lines of white space", "1\n \n2\n", "1\n2\n", wrong("the output has more lines than the answer")},
		{"white space within", "a  b\n1\n", "a b\n1\n",
			part(0.5, "1 of 2 lines are right; line 1 is the first that differs")},
		{"no white space", "ab\n1\n", "a b\n1\n", part(0.5, "1 of 2 lines are right; line 1 is the first that differs")},
		{"long", "z\n " + long + "  \n", "z\n" + long, accepted},
		{"long, one more space", "z\n" + strings.Replace(long, " ", "  ", 1), "z\n" + long,
			part(0.5, "1 of 2 lines are right; line 2 is the first that differs")},
		{"long, less space", "z\n" + strings.Replace(long, " ", "", 1), "z\n" + long,
			part(0.5, "1 of 2 lines are right; line 2 is the first that differs")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := c.Check(t.Context(), strings.NewReader(tt.output), strings.NewReader(tt.answer))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			got, err = c.Check(t.Context(), iotest.OneByteReader(strings.NewReader(tt.output)), strings.NewReader(tt.answer))
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("byte by byte: %v; -want +got\n%s", err, diff)
			}
		})
	}
}
