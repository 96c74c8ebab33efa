package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFlagsCompleteTheFile: the configuration is valid with its flags, even if its file alone is not.
func TestFlagsCompleteTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "judged.toml")
	if err := os.WriteFile(file, []byte("[fleet]\nrole = \"judge\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string // URL of the front, or part of the error
	}{
		{[]string{"--front", "https://front.example.org"}, "https://front.example.org"},
		{nil, "fleet.front"},
		{[]string{"--front", "nowhere"}, "fleet.front"},
	} {
		a := &app{config: file}
		cmd := a.serveCommand()
		if err := cmd.ParseFlags(append([]string{"--config", file}, tt.args...)); err != nil {
			t.Fatal(err)
		}
		c, err := a.serveConfig(cmd, "", false)
		got := c.Fleet.Front
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.args, got, tt.want)
		}
	}
}
