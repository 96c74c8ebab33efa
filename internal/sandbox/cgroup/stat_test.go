package cgroup

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/testkit"
)

func TestParseMemoryStat(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       Memory
	}{
		{"all", "anon 5\nworkingset_refault_anon 2\nworkingset_refault_file 3\nnuma_pages_migrated 7\n",
			Memory{Refaults: new(int64(5)), NUMAMigrations: new(int64(7))}},
		{"before Linux 6.12", "workingset_refault_anon 0\nworkingset_refault_file 4\npgrefill 9\n",
			Memory{Refaults: new(int64(4))}},
		{"before Linux 5.9", "workingset_refault 6\n", Memory{Refaults: new(int64(6))}},
		{"a kernel that counts neither", "cache 4096\n", Memory{}},
		{"no number", "workingset_refault_file x\n", Memory{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, parseMemoryStat(tt.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParsePressure(t *testing.T) {
	const text = "some avg10=12.44 avg60=23.21 avg300=51.57 total=3617855723\nfull avg10=0.00 avg60=0.00 avg300=0.00 " +
		"total=5\n"
	for _, tt := range []struct {
		text, line string
		want       *time.Duration
	}{
		{text, "some", new(3617855723 * time.Microsecond)},
		{text, "full", new(5 * time.Microsecond)},
		{"full avg10=0.00 total=5", "some", nil},
		{"some avg10=0.00 total=-5", "some", nil},
		{"some avg10=0.00", "some", nil},
		{"", "some", nil},
	} {
		if diff := cmp.Diff(tt.want, parsePressure(tt.text, tt.line)); diff != "" {
			t.Errorf("%s of %q: %s", tt.line, tt.text, diff)
		}
	}
}

// TestGroupPressure: two processes that spin on one CPU wait for each other, and the group reports it if the kernel
// measures it.
func TestGroupPressure(t *testing.T) {
	s, _ := lastSlot(t)
	g, err := s.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	defer remove(t, g)
	account := false
	if g.v2 != nil {
		_, err := os.ReadFile(g.v2.Name() + "/cpu.pressure")
		account = err == nil
	}
	one, two := join(t, g, "spin"), join(t, g, "spin")
	one.in.Close()
	two.in.Close()
	if account {
		testkit.WaitFor(t, time.Minute, "the pressure to be counted", func() bool {
			p := g.Pressure().CPU
			return p != nil && *p > time.Millisecond
		})
	} else if p := g.Pressure(); p != (Pressure{}) {
		t.Errorf("pressure %+v, but the kernel does not measure it", p)
	}
	one.kill(t, g)
	two.wait(t)
}
