package text

import "testing"

func TestPattern(t *testing.T) {
	p := Pattern(`^a+$`)
	if !p().MatchString("aa") || p().MatchString("b") || p() != p() {
		t.Errorf("Pattern: %s", p())
	}
	Pattern("(") // wrong, and not used
}
