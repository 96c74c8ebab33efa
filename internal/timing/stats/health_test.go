package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// learned returns the health of a slot whose workload takes 100 ms, sigma 1 %, guard band 3 %.
func learned() Health {
	return Health{State: Steady, Baseline: Baseline{Center: 100 * ms, Sigma: 0.01, Guard: 0.03}}
}

// feed adds n readings of the given number of milliseconds.
func feed(h Health, n, millis int) Health {
	for range n {
		h = DefaultChart().Next(h, time.Duration(millis)*ms)
	}
	return h
}

// TestNextIsPure checks that a reading does not change the previous health.
func TestNextIsPure(t *testing.T) {
	h := Health{State: Learning, Learned: append(make([]time.Duration, 0, 9), ms)}
	one := DefaultChart().Next(h, 2*ms)
	DefaultChart().Next(h, 3*ms)
	if diff := cmp.Diff(millis(1, 2), one.Learned); diff != "" {
		t.Errorf("after another reading of the same health (-want +got):\n%s", diff)
	}
}

func TestHealth(t *testing.T) {
	type short struct {
		State State
		Shift Shift
	}
	// A reading of 104 ms is 3.92 sigma: with a slack of 0.5, the second one makes the chart signal. A reading of 105
	// ms is 4.88 sigma.
	suspect := feed(learned(), 2, 104)
	shifted := feed(suspect, 6, 104)
	faster := feed(feed(learned(), 2, 96), 6, 96)
	tests := []struct {
		name string
		got  Health
		want short
	}{
		{"nothing known", feed(Health{}, 1, 100), short{State: Learning}},
		{"still learning", feed(Health{}, 49, 100), short{State: Learning}},
		{"learned", feed(Health{}, 50, 100), short{State: Steady}},
		{"steady", feed(learned(), 1000, 100), short{State: Steady}},
		{"one far reading is half a signal", feed(learned(), 1, 104), short{State: Steady}},
		{"signal", suspect, short{State: Suspect, Shift: Slower}},
		{"one wild reading is a signal", feed(learned(), 1, 400), short{State: Suspect, Shift: Slower}},
		{"and no more", feed(feed(learned(), 1, 400), 5, 100), short{State: Steady}},
		{"five beyond the guard band", feed(suspect, 5, 104), short{State: Suspect, Shift: Slower}},
		{"five and four within", feed(feed(suspect, 5, 104), 4, 100), short{State: Suspect, Shift: Slower}},
		{"five and five within", feed(feed(suspect, 5, 104), 5, 100), short{State: Steady}},
		{"beyond on the other side is not beyond", feed(feed(suspect, 5, 104), 5, 90), short{State: Steady}},
		{"six beyond", shifted, short{State: Shifted, Shift: Slower}},
		{"four within and six beyond", feed(feed(suspect, 4, 100), 6, 104), short{State: Shifted, Shift: Slower}},
		{"a shift within the guard band stays without consequence", feed(learned(), 18, 102), short{State: Steady}},
		{"faster", faster, short{State: Shifted, Shift: Faster}},
		{"suspected of turbo", feed(learned(), 2, 96), short{State: Suspect, Shift: Faster}},
		{"shifted for long", feed(shifted, 1000, 104), short{State: Shifted, Shift: Slower}},
		{"19 clean ones", feed(shifted, 19, 102), short{State: Shifted, Shift: Slower}},
		{"20 clean ones", feed(shifted, 20, 102), short{State: Steady}},
		{"those that decided do not count", feed(feed(feed(suspect, 4, 100), 6, 104), 19, 100),
			short{State: Shifted, Shift: Slower}},
		{"in a row", feed(feed(feed(shifted, 19, 100), 1, 104), 19, 100), short{State: Shifted, Shift: Slower}},
		{"20 clean ones in a row", feed(feed(feed(shifted, 19, 100), 1, 104), 20, 100), short{State: Steady}},
		{"too fast is not clean", feed(shifted, 20, 90), short{State: Shifted, Shift: Slower}},
		{"recovered, and slow again", feed(feed(shifted, 20, 100), 8, 104), short{State: Shifted, Shift: Slower}},
		{"nothing measured", feed(learned(), 8, 0), short{State: Shifted, Shift: Faster}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := short{tt.got.State, tt.got.Shift}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\n%+v", diff, tt.got)
			}
		})
	}
}

// TestHealthIsKept goes through all states, with and without a round trip through JSON between readings.
func TestHealthIsKept(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 10))
	seen := map[State]bool{}
	var h, kept Health
	for i := range 2000 {
		f := 1.0
		if i > 100 && i%300 > 150 {
			f = 1.1
		}
		x := time.Duration(f * math.Exp(0.01*r.NormFloat64()) * float64(100*ms))
		h = DefaultChart().Next(h, x)
		text, err := json.Marshal(DefaultChart().Next(kept, x))
		if err != nil {
			t.Fatal(err)
		}
		kept = Health{}
		if err := json.Unmarshal(text, &kept); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h, kept); diff != "" {
			t.Fatalf("after reading %d (-never written +kept):\n%s", i, diff)
		}
		seen[h.State] = true
	}
	if diff := cmp.Diff(map[State]bool{Learning: true, Steady: true, Suspect: true, Shifted: true}, seen); diff != "" {
		t.Errorf("states that were kept (-want +got):\n%s", diff)
	}
}

// TestNextLeavesItsArgument checks that two slots may start from the same state.
func TestNextLeavesItsArgument(t *testing.T) {
	h := feed(Health{}, 10, 100)
	one := feed(h, 1, 200)
	want := feed(feed(Health{}, 10, 100), 1, 200)
	feed(h, 1, 300)
	if diff := cmp.Diff(want, one); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEWMAOfHealth checks that the average continues in every state, and restarts with a new baseline.
func TestEWMAOfHealth(t *testing.T) {
	z := math.Log(1.04) / 0.01
	want := 0.0
	for range 8 {
		want = 0.8*want + 0.2*z
	}
	if got := float64(feed(learned(), 8, 104).EWMA); math.Abs(got-want) > 1e-9 {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := feed(Health{}, 50, 104).EWMA; got != 0 {
		t.Errorf("learned: got %v, want 0", got)
	}
}

// TestHealthOfNothing checks that a time of 0 does not become an infinity, which JSON cannot represent.
func TestHealthOfNothing(t *testing.T) {
	for _, h := range []Health{feed(learned(), 1, 0), feed(Health{}, 60, 0)} {
		if _, err := json.Marshal(h); err != nil {
			t.Errorf("%+v: %v", h, err)
		}
	}
}

// TestHealthOnNoise checks the results of the chart for 200 slots of a noisy machine over 1000 readings each, and how
// soon it detects that they are 20 % slower. Even there, the second stage leaves no false alarm.
func TestHealthOnNoise(t *testing.T) {
	n := noise{sigma: 0.01, disturbed: 0.05, disturbance: 0.05}
	r := rand.New(rand.NewPCG(5, 465))
	shifted, suspected, missed, late := 0, 0, 0, 0
	for range 200 {
		slot := n.host(r)
		read := func(h Health, base time.Duration) Health {
			x := slot.run(base, 0).CPUTime
			return DefaultChart().Next(h, x)
		}
		var h Health
		for range 1050 {
			before := h.State
			if h = read(h, 100*ms); h.State == Suspect && before == Steady {
				suspected++
			}
			if h.State == Shifted {
				shifted++
				break
			}
		}
		for i := 0; h.State != Shifted; i++ {
			if i == 30 {
				missed++
				break
			}
			late++
			h = read(h, 120*ms)
		}
	}
	t.Logf("%d signals, %d false alarms in 200 000 readings; a slot 20 %% slower is found after %.1f, %d missed",
		suspected, shifted, float64(late)/200, missed)
	if suspected == 0 || shifted > 0 || missed > 0 {
		t.Errorf("%d signals, %d false alarms, %d missed; want some, 0, 0", suspected, shifted, missed)
	}
}
