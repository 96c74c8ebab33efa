package api

import (
	"regexp"
	"slices"
	"testing"
)

func TestCatalogueIsComplete(t *testing.T) {
	sentence := regexp.MustCompile(`^[A-Z].*[A-Za-z)]\.$`)
	phrase := regexp.MustCompile(`^([a-z].*[A-Za-z])?$`)
	label := regexp.MustCompile(`^[a-z]+$`)
	times := []Lengthens{LengthensCPU, LengthensWall, LengthensBoth}
	seen := map[Cause]bool{}
	for _, e := range Catalogue() {
		switch {
		case seen[e.Cause]:
			t.Errorf("%s: listed twice", e.Cause)
		case !label.MatchString(string(e.Cause)):
			t.Errorf("%q: not a label of a metric", e.Cause)
		case !sentence.MatchString(e.Means), !sentence.MatchString(e.Remedy):
			t.Errorf("%s: want two sentences, got %q and %q", e.Cause, e.Means, e.Remedy)
		case !phrase.MatchString(e.SelfMade):
			t.Errorf("%s: self-made by %q", e.Cause, e.SelfMade)
		case e.Short == "" || !phrase.MatchString(e.Short):
			t.Errorf("%s: in short %q", e.Cause, e.Short)
		case !slices.Contains(times, e.Adds):
			t.Errorf("%s: lengthens %q", e.Cause, e.Adds)
		}
		seen[e.Cause] = true
		if got, ok := Explain(e.Cause); !ok || got != e {
			t.Errorf("Explain(%s) = %v, %t", e.Cause, got, ok)
		}
	}
	if e, ok := Explain("noise"); ok {
		t.Errorf("Explain of an unknown cause = %v", e)
	}
}

// TestCausesThatExplain checks that only causes that no program can produce explain anything: this list is the rule.
func TestCausesThatExplain(t *testing.T) {
	want := []Cause{CauseForeign, CauseSteal, CauseThrottle, CauseFrequency, CauseSMI, CauseCanary, CauseNeighbours}
	var got []Cause
	for _, e := range Catalogue() {
		if e.Explains() {
			got = append(got, e.Cause)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("explain: got %v, want %v", got, want)
	}
}

func TestWordsHaveMeanings(t *testing.T) {
	sentence := regexp.MustCompile(`^[A-Z].*[a-z]\.$`)
	for name, words := range map[string][]Meaning{"confidence": Confidences(), "decided_by": Deciders(),
		"fault": Faults()} {
		seen := map[string]bool{}
		for _, w := range words {
			if seen[w.Word] || w.Word == "" || !sentence.MatchString(w.Means) {
				t.Errorf("%s %q: %q", name, w.Word, w.Means)
			}
			seen[w.Word] = true
		}
	}
}
