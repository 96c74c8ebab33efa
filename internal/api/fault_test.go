package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFaultOf(t *testing.T) {
	if want := []Fault{HostFault, JuryFault, ProblemFault, NoiseFault, JudgedFault}; !slices.Equal(AllFaults(), want) {
		t.Errorf("the faults are %v, want %v", AllFaults(), want)
	}
	full := &fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}
	for _, tt := range []struct {
		name string
		err  error
		want Fault
	}{
		{"nothing known", errors.New("x"), JudgedFault},
		{"another error of the system", &fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT}, JudgedFault},
		{"disk full", fmt.Errorf("copy: %w", full), HostFault},
		{"no memory, among others", errors.Join(errors.New("x"), syscall.ENOMEM), HostFault},
		{"stated", fmt.Errorf("judge: %w", Blame(JuryFault, errors.New("x"))), JuryFault},
		{"stated of a full disk", fmt.Errorf("judge: %w", Blame(ProblemFault, full)), ProblemFault},
	} {
		if got := FaultOf(tt.err); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if err := Blame(HostFault, full); err.Error() != full.Error() || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Blame changed the error to %q", err)
	}
	if err := Blame(HostFault, nil); err != nil {
		t.Errorf("Blame made %q of nil", err)
	}
}

// TestReportsOfOtherVersions checks that reports written by other versions of judged stay readable, and are written
// back unchanged.
func TestReportsOfOtherVersions(t *testing.T) {
	for _, text := range []string{
		`{"state":"done","verdict":"IE","judgement_type":"JE","message":"m","tests":[{"name":"1","verdict":"IE","message":"m"}]}`,
		`{"state":"done","verdict":"IE","judgement_type":"JE","fault":"moon","message":"m"}`,
	} {
		var r Report
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, string(again)); diff != "" {
			t.Errorf("read and written again:\n%s", diff)
		}
	}
}

func TestFail(t *testing.T) {
	r, test := Report{State: Running, Verdict: Accepted, JudgementType: "AC"}, TestReport{Name: "1", Verdict: Accepted}
	r.Fail(HostFault, "no disk")
	test.Fail(JuryFault, "no checker")
	got, err := json.Marshal(struct {
		Report Report
		Test   TestReport
	}{r, test})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Report":{"state":"done","verdict":"IE","judgement_type":"JE","fault":"host","message":"no disk"},` +
		`"Test":{"name":"1","verdict":"IE","fault":"jury","message":"no checker"}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(CheckReport{Verdict: InternalError, Fault: ProblemFault, Message: "m"},
		FailedCheck(ProblemFault, "m")); diff != "" {
		t.Error(diff)
	}
}
