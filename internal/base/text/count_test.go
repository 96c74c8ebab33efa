package text

import "testing"

func TestCount(t *testing.T) {
	for want, n := range map[string]int{"1 vulnerability": 1, "3 vulnerabilities": 3, "2 days": 2, "0 tasks": 0} {
		noun := map[string]string{"1 vulnerability": "vulnerability", "3 vulnerabilities": "vulnerability",
			"2 days":  "day",
			"0 tasks": "task"}[want]
		if got := Count(n, noun); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
