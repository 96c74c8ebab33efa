package judge_test

import (
	"strings"
	"testing"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/engine"
	"judged/internal/testkit"
)

// TestMissingInterpreters: a missing interpreter that the host should have is the fault of the host, in all forms in
// which a program can name it, and for programs of the jury, too. Other names are a mistake of the contestant.
func TestMissingInterpreters(t *testing.T) {
	testkit.Need(t, testkit.Root, testkit.Cgroup)
	eng := openTalkEngine(t, engine.JuryLimits(config.Default().Limits.Jury))
	const host, mine = api.InternalError, api.RuntimeError
	for _, tt := range []struct {
		script  string
		verdict api.Verdict
		lacks   string
	}{
		{"#!/usr/bin/ruby99", host, "/usr/bin/ruby99"},
		{"#!/usr/bin/swipl99", host, "/usr/bin/swipl99"},
		{"#!/usr/bin/env ruby99", host, "ruby99"},
		{"#!/usr/bin/env -S erl99 -noshell", host, "erl99"},
		{"#!/usr/bin/env /usr/bin/ruby99", host, "/usr/bin/ruby99"},
		{"#!/bin/sh\nexec ruby99 x", host, "ruby99"},
		{"#!/bin/sh\nexec /usr/bin/env ruby99 x", host, "ruby99"},
		{"#!/bin/sh\nexec ruby99 x || exec sh -c 'exit 3'", host, "ruby99"},
		{"#!/bin/sh\ncommand -v ruby99 && exec ruby99 x\nexit 0", api.Accepted, ""},
		{"#!/bin/sh\ncommand -v ruby99 && exec ruby99 x\nexit 3", mine, ""},
		{"#!/bin/sh\nexit 127", mine, ""},
		{"#!/bin/sh\nnothere", mine, ""},
		{"#!/usr/bin/env nothere", mine, ""},
		{"#!/usr/bin/nothere", api.NotExecutable, ""},
		{"#!/opt/ruby99", api.NotExecutable, ""},
	} {
		t.Run(tt.script, func(t *testing.T) {
			r := judgeTalk(t, eng, api.Job{Program: api.File{Part: written(t, tt.script+"\n")},
				Tests: []api.Test{{Name: "1"}}, Repeats: api.Repeats{Policy: api.Single}})
			named := tt.lacks != "" && strings.Contains(r.Message, `this host has no "`+tt.lacks+`"`)
			if r.Verdict != tt.verdict || (tt.verdict == host) != (named && r.Fault == api.HostFault) {
				t.Errorf("verdict %s, want %s; fault %q, %q: %s", r.Verdict, tt.verdict, r.Fault, r.Message, tell(r))
			}
		})
	}
	for _, script := range []string{"#!/usr/bin/ruby99", "#!/usr/bin/env ruby99", "#!/bin/sh\nexec ruby99"} {
		checker := api.File{Part: written(t, script+"\n")}
		r := judgeTalk(t, eng, api.Job{Program: shell(t, "exit 0"), Tests: []api.Test{{Name: "1"}},
			Checker: &api.Checker{Kind: "testlib", Program: &checker}, Repeats: api.Repeats{Policy: api.Single}})
		if r.Verdict != host || r.Fault != api.HostFault || !strings.Contains(r.Message, "ruby99") {
			t.Errorf("a checker of %q: verdict %s, fault %q, %q", script, r.Verdict, r.Fault, r.Message)
		}
	}
}
