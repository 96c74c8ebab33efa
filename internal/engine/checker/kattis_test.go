package checker_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/engine/checker"
)

// TestKattis checks which outputs each flag of the default output validator accepts, and the messages for the others.
func TestKattis(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for _, tt := range []struct{ name, flags, output, answer, want string }{
		{"no flag", "", " yes\n1", "YES 1\n", ""},
		{"numbers are text without a tolerance", "", "1.0", "1", `token 1, offset 1: output "1.0", answer "1"`},
		{"case, equal", "case_sensitive", "Yes \n", "Yes", ""},
		{"case, different", "case_sensitive", "1 yEs", "1 yes", `token 2, offset 3: output "yEs", answer "yes"`},
		{"case in a long token", "case_sensitive", long + "Y", long + "y",
			`token 1, offset 200000: output …"xxxxxxxxxxxxxxxxxxxxxxxY", answer …"xxxxxxxxxxxxxxxxxxxxxxxy"`},
		{"case without a flag in a long token", "", long + "Y", long + "y", ""},
		{"case of text among numbers", "case_sensitive float_tolerance 1e-6", "1.0 A", "1 a",
			`token 2, offset 4 in the output, 2 in the answer: output "A", answer "a"`},

		{"space, equal", "space_change_sensitive", " Yes\t1\r\n", " yes\t1\r\n", ""},
		{"space, long and equal", "space_change_sensitive", "a" + strings.Repeat(" ", 200_000) + "b",
			"a" + strings.Repeat(" ", 200_000) + "b", ""},
		{"space of another kind", "space_change_sensitive", "1\t2", "1 2",
			`white space before token 2, offset 1: output "1\t2", answer "1 2"`},
		{"more space", "space_change_sensitive", "1  2", "1 2",
			`white space before token 2, offset 2: output "1  2", answer "1 2"`},
		{"less space", "space_change_sensitive", "1 2", "1  2",
			`white space before token 2, offset 2: output "1 2", answer "1  2"`},
		{"leading space", "space_change_sensitive", " 1", "1",
			`white space before token 1, offset 0: output " 1", answer "1"`},
		{"space at the end", "space_change_sensitive", "1\n", "1",
			`white space before token 2, offset 1: output "1\n", answer "1"`},
		{"no space at the end", "space_change_sensitive", "1", "1\n",
			`white space before token 2, offset 1: output "1", answer "1\n"`},
		{"space after other case", "space_change_sensitive", "A \n", "a \n", ""},
		{"space after a near number", "space_change_sensitive float_tolerance 0.1", "1.05\t2", "1 2",
			`white space before token 2, offset 4 in the output, 1 in the answer: output "1.05\t2", answer "1 2"`},

		{"both, absolute", "float_tolerance 1e-2", "0.01", "0", ""},
		{"both, relative", "float_tolerance 1e-2", "1010", "1000", ""},
		{"both, neither", "float_tolerance 1e-2", "1010.1", "1000",
			`token 1, offset 2: output "1010.1", answer "1000"`},
		{"absolute only", "float_absolute_tolerance 1e-2", "1000.01", "1000", ""},
		{"absolute only, within a relative one", "float_absolute_tolerance 1e-2", "1000.02", "1000",
			`token 1, offset 4: output "1000.02", answer "1000"`},
		{"relative only", "float_relative_tolerance 1e-2", "0.0101", "0.01", ""},
		{"relative only, within an absolute one", "float_relative_tolerance 1e-2", "0.0102", "0.01",
			`token 1, offset 4: output "0.0102", answer "0.01"`},
		{"relative only, to zero", "float_relative_tolerance 1e-2", "1e-5000", "0",
			`token 1, offset 0: output "1e-5000", answer "0"`},
		{"relative only, tiny and near", "float_relative_tolerance 1e-2", "1.01e-5000", "1e-5000", ""},
		{"relative only, tiny and far", "float_relative_tolerance 1e-2", "5e-5000", "1e-5000",
			`token 1, offset 0: output "5e-5000", answer "1e-5000"`},
		{"relative only, huge and near", "float_relative_tolerance 1e-2", "1.01e5000", "1e5000", ""},
		{"absolute only, huge", "float_absolute_tolerance 1e300", "1.01e5000", "1e5000",
			`token 1, offset 1: output "1.01e5000", answer "1e5000"`},
		{"one of each: absolute", "float_absolute_tolerance 1 float_relative_tolerance 1e-9", "11", "10", ""},
		{"one of each: relative", "float_relative_tolerance 0.5 float_absolute_tolerance 1e-9", "15", "10", ""},
		{"zero", "float_absolute_tolerance 0", "1.50 2", "1.5 2.000", ""},
		{"zero, different", "float_absolute_tolerance 0", "1e-5000", "0",
			`token 1, offset 0: output "1e-5000", answer "0"`},
		{"the answer is a number, the output is not", "float_tolerance 1", "one", "1",
			`token 1, offset 0: output "one", answer "1"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := checker.Parse("kattis", strings.Fields(tt.flags)...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Check(t.Context(), strings.NewReader(tt.output), strings.NewReader(tt.answer))
			if err != nil {
				t.Fatal(err)
			}
			want := api.CheckReport{Verdict: api.Accepted}
			if tt.want != "" {
				want = api.CheckReport{Verdict: api.WrongAnswer, Message: tt.want}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFlags checks the errors of Parse for invalid flags.
func TestFlags(t *testing.T) {
	for _, tt := range []struct{ kind, flags, want string }{
		{"kattis", "Case_Sensitive", `parse checker "kattis": unknown flag "Case_Sensitive": use case_sensitive, ` +
			`space_change_sensitive, float_tolerance EPS, float_absolute_tolerance EPS or float_relative_tolerance EPS`},
		{"kattis", "float_tolerance",
			`parse checker "kattis": flag float_tolerance has no number after it; add one such as 1e-6`},
		{"kattis", "float_absolute_tolerance nan", `parse checker "kattis": flag float_absolute_tolerance: ` +
			`tolerance "nan" is not a decimal number such as 1e-6`},
		{"kattis", "float_relative_tolerance -1", `parse checker "kattis": flag float_relative_tolerance: ` +
			`tolerance "-1" must be above 0 and within the range of a float64`},
		{"tokens", "case_sensitive", `checker "tokens" takes no arguments; leave them out`},
	} {
		_, err := checker.Parse(tt.kind, strings.Fields(tt.flags)...)
		if err == nil {
			t.Errorf("%s %s: accepted", tt.kind, tt.flags)
		} else if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.kind, tt.flags, diff)
		}
	}
}
