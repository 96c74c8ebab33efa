package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"judged/internal/jobs"
)

// TestMissingFiles: files of problems and of reports are among the missing ones, so the next step is not only for jobs.
func TestMissingFiles(t *testing.T) {
	var said bytes.Buffer
	a := &app{out: io.Discard, err: &said}
	if err := a.printArchive("saved", jobs.Archive{Missing: []string{"d1", "d2"}}, false); !errors.Is(err, errNo) {
		t.Errorf("error %v, want exit code 1", err)
	}
	for _, want := range []string{"2 files of unfinished jobs, problems and reports", "the first one d1; ",
		"upload them again"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q lacks %q", said.String(), want)
		}
	}
}
