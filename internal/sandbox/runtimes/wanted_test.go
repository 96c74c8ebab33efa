package runtimes

import (
	"path/filepath"
	"testing"
)

func TestWanted(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		path := filepath.Join(dir, "file")
		write(t, path, text)
		return path
	}
	for text, want := range map[string]string{
		"#!/usr/bin/python3\n":        "/usr/bin/python3",
		"#! \t/usr/bin/python3.12 -O": "/usr/bin/python3.12",
		"#!/bin/bash\t-e\n":           "/bin/bash",
		"#!/usr/bin/env python3\r\n":  "",
		"#!/usr/bin/env none\n":       "",
		"#!/usr/bin/env\n":            "",
		"#!/usr/bin/env -S ruby -w\n": "ruby",
		"#!/usr/bin/env python3\n":    "python3",
		"#!/usr/bin/env /bin/ruby\n":  "/bin/ruby",
		"#!/usr/bin/env /opt/ruby\n":  "",
		"#!/usr/bin/env ./ruby\n":     "",
		"#!/usr/bin/env swipl\n":      "swipl",
		"#!/usr/bin/swipl\n":          "/usr/bin/swipl",
		"#!/usr/bin/R3.6\n":           "/usr/bin/R3.6",
		"#!/usr/bin/Ruby\n":           "",
		"#!/usr/bin/python3\r\n":      "",
		"#!/no/such/thing\n":          "",
		"#!/usr/bin/none\n":           "",
		"#!python3\n":                 "",
		"#!\n":                        "",
		"print(1)\n":                  "",
		"":                            "",
	} {
		if got := inspect(file(text))[0].Wanted; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for name, tt := range map[string]struct{ flag, want string }{
		"musl":   {"-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-x86_64.so.1"},
		"other":  {"-Wl,--dynamic-linker=/lib/other.so", ""},
		"static": {"-static", ""},
	} {
		if got := inspect(link(t, filepath.Join(dir, name), tt.flag))[0].Wanted; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
