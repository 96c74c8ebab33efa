package measure

import "testing"

// TestTidyAfterClose: the timer of a run may fire late. Nothing is prepared on a
// worker that is closed, whose launcher may be gone.
func TestTidyAfterClose(t *testing.T) {
	s := &Worker{closed: true} // without a launcher
	s.Tidy()
	s.tidying.Wait()
	if s.next != nil {
		t.Error("a sandbox was prepared")
	}
}
