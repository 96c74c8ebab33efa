package checker_test

import (
	"strings"
	"testing"

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
	for _, flags := range []string{"linecount", "easy sorted", "space_change_sensitive"} {
		if _, err := checker.Parse("dmoj", strings.Fields(flags)...); err == nil {
			t.Errorf("flags %q are accepted", flags)
		}
	}
}
