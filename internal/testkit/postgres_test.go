package testkit

import (
	"testing"
)

// TestKillAndRestart: a server that was killed has its data after a restart.
func TestKillAndRestart(t *testing.T) {
	s := StartPostgres(t, "fsync=off")
	s.Database(t)
	s.Kill(t)
	if out, err := s.psql("SELECT 1"); err == nil {
		t.Fatalf("a killed server answers: %s", out)
	}
	s.Restart(t)
	if out, err := s.psql(`\connect test1`); err != nil {
		t.Errorf("the database is gone: %v\n%s", err, out)
	}
}
