package front

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/jobs"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// ring returns pairs of six nodes with the given effects.
func ring(effects ...float64) []pair {
	var all []pair
	for i := range 60 {
		for a := range effects {
			b := (a + 1 + i%2) % len(effects)
			all = append(all, pair{At: noon.Add(time.Duration(i-60) * time.Hour), A: string(rune('a' + a)),
				B: string(rune('a' + b)), LogRatio: effects[b] - effects[a] + 0.004*float64(1-2*(i/2%2))})
		}
	}
	return all
}

func TestStateDetects(t *testing.T) {
	one, two := ring(0, 0.05, 0, 0, 0, 0), ring(0, 0.05, 0, 0.05, 0, 0)
	month := 30 * 24 * time.Hour
	tests := []struct {
		name    string
		state   auditState
		pairs   []pair
		shadow  time.Duration
		suspect string
		alarm   string
	}{
		{"equal", auditState{}, ring(0, 0, 0, 0, 0, 0), 0, "", ""},
		{"one", auditState{}, one, 0, "b", ""},
		{"several", auditState{}, two, 0, "", "several nodes deviate at once (b, d)"},
		{"shadow", auditState{Since: noon.Add(-24 * time.Hour)}, one, month, "",
			"nothing is drained before 2026-07-30T12:00:00Z"},
		{"after the shadow", auditState{Since: noon.Add(-month)}, one, month, "b", ""},
		{"a second one on a day", auditState{Retired: []retirement{{Node: "x", At: noon.Add(-23 * time.Hour)}}}, one, 0, "",
			"another node was drained within a day"},
		{"a second one later", auditState{Retired: []retirement{{Node: "x", At: noon.Add(-25 * time.Hour)}}}, one, 0, "b",
			""},
		{"rejected", auditState{Rejected: &suspicion{Node: "b", Started: noon.Add(-time.Hour)}}, one, 0, "",
			"not in direct comparison"},
		{"rejected long ago", auditState{Rejected: &suspicion{Node: "b", Started: noon.Add(-25 * time.Hour)}}, one, 0, "b",
			""},
		{"comparing already", auditState{Confirming: &suspicion{Node: "b"}}, one, 0, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.state
			if got := s.detect(noon.Add(-time.Hour), tt.pairs, tt.shadow); got != "" {
				t.Errorf("suspect %q in the first run", got)
			}
			got := s.detect(noon, tt.pairs, tt.shadow)
			if got != tt.suspect || !strings.Contains(s.Alarm, tt.alarm) || (tt.alarm == "") != (s.Alarm == "") {
				t.Errorf("suspect %q, alarm %q; want %q, %q; %+v", got, s.Alarm, tt.suspect, tt.alarm, s.Result)
			}
		})
	}
}

func TestPairs(t *testing.T) {
	at := func(hours int) time.Time { return noon.Add(time.Duration(hours) * time.Hour) }
	audits := []jobs.Audit{
		{Origin: "a", Node: "b", LogRatio: 0.1, Finished: at(1)},
		{Origin: "b", Node: "a", LogRatio: 0.2, Finished: at(3)},
		{Origin: "a", Node: "gone", LogRatio: 0.3, Finished: at(4)},
	}
	s := auditState{Restored: map[string]time.Time{"b": at(2)}}
	got := s.pairs(audits, func(node string) bool { return node == "gone" })
	want := []pair{{At: at(3), A: "b", B: "a", LogRatio: 0.2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
}

func TestReferences(t *testing.T) {
	got := references("b", []string{"a", "b", "c", "d", "e", "f"}, []string{"b", "c"})
	if diff := cmp.Diff([]string{"a", "d", "e"}, got); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
}

func TestInterleaved(t *testing.T) {
	got := interleaved("s", []jobs.Audit{{Original: "1", Node: "a", LogRatio: 0.25},
		{Original: "1", Node: "s", LogRatio: 0.5},
		{Original: "2", Node: "a", LogRatio: 0.1}, {Original: "3", Node: "s", LogRatio: 0.3}})
	want := []pair{{A: "a", B: "s", LogRatio: 0.25}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
}

// TestConfirmationTakesTime checks that a confirmation waits for open audits, but not for ever.
func TestConfirmationTakesTime(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration
		open  int
		done  bool
	}{{time.Hour, 1, false}, {time.Hour, 0, true}, {confirmFor, 1, true}} {
		s := auditState{Confirming: &suspicion{Node: "b", Started: noon}}
		if drain, done := s.confirmed(noon.Add(tt.after), nil, tt.open); drain || done != tt.done {
			t.Errorf("%d open after %v: drain %v, done %v; want done %v", tt.open, tt.after, drain, done, tt.done)
		}
	}
}
