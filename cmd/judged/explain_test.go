package main

import (
	"strings"
	"testing"
)

// TestParseReport: what is not a whole report is not explained.
func TestParseReport(t *testing.T) {
	for _, tt := range []struct {
		text, want string // part of the error, "" for none
	}{
		{`{"state": "done", "verdict": "AC"}`, ""},
		{`{"state": "cancelled", "verdict": "CX"}` + "\n", ""},
		{`{"state": "running"}`, ""},
		{`{}`, "no member state"},
		{`{"state": "done"}`, "no member verdict"},
		{`{"state": "over", "verdict": "AC"}`, `unknown state "over"`},
		{`{"state": "done", "verdict": "OK"}`, `unknown verdict "OK"`},
		{`{"state": "done", "verdict": "AC"} {"state": "done", "verdict": "WA"}`, "trailing data after JSON"},
		{``, "EOF"},
	} {
		_, _, err := parseReport(strings.NewReader(tt.text), "file")
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.want)
		}
	}
}
