package runtimes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestExecutedInterpreters(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"#!/bin/sh\nexec python3 sol.py\n", []string{"/bin/sh", "python3"}},
		{"#!/bin/sh\n[ -f x ] && exec \"/usr/bin/java\" -jar x; exec env pypy3 \"$@\"\n",
			[]string{"/bin/sh", "/usr/bin/java", "env", "pypy3"}},
		{"#!/bin/sh\nexec python3 a\nexec python3 b\n", []string{"/bin/sh", "python3"}},
		{"#!/bin/sh\nexec /root/python3 a; exec nothing; execute python3; exec ../python3; exec $PYTHON\n",
			[]string{"/bin/sh"}},
		{"exec python3 sol.py\n", nil},
	} {
		if diff := cmp.Diff(tt.want, readDependencies(strings.NewReader(tt.text)).Interpreters); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
		p, err := Inspect(strings.NewReader(tt.text), int64(len(tt.text)))
		if diff := cmp.Diff(tt.want[min(1, len(tt.want)):], p.Executes, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%q executes (-want +got):\n%s%v", tt.text, diff, err)
		}
	}
}
