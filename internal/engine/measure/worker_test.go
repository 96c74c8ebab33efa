package measure

import "testing"

// TestTidyAfterClose checks that nothing is prepared on a closed worker when the timer of a run fires late: the
// launcher may be gone.
func TestTidyAfterClose(t *testing.T) {
	s := &Worker{closed: true} // without a launcher
	s.Tidy()
	s.tidying.Wait()
	if s.next != nil {
		t.Error("a sandbox was prepared")
	}
}
