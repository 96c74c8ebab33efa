package dispatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/host/machine"
	"judged/internal/host/slots"
	"judged/internal/sandbox/initproc"
	"judged/internal/timing/stats"
)

const tenPercent = "canary alu is 10.0 % slower than its baseline"

// quarantined makes the first slot slower until it is quarantined.
func (f *watched) quarantined() {
	f.Helper()
	f.canary.factors["0"] = 1.1
	f.pass(interval + hostInterval)
	f.is(first, slots.Quarantined, api.HoldQuarantine, tenPercent)
}

// TestQuarantine checks that a slot that becomes slower goes out of use and its jobs run elsewhere, also after a
// restart, and that it returns once it has recovered.
func TestQuarantine(t *testing.T) {
	watch(t, func(f *watched) {
		end := f.watch()
		f.is(first, slots.Idle, "", "")
		f.logged("")
		f.quarantined()
		f.logged(`level=WARN msg="slot quarantined; it returns to use when its canaries recover" cpus=0 reason="` +
			tenPercent + `"`)
		for range 3 {
			l := f.lease()
			if got := l.Slot().CPUs.String(); got != "1" {
				t.Errorf("a job runs on CPU %s, want 1", got)
			}
			l.Release()
		}
		f.is(second, slots.Idle, "", "")
		end()
		f.restart()
		f.is(first, slots.Quarantined, api.HoldQuarantine, tenPercent)
		f.log.Reset()

		f.watch() // reads it immediately
		f.canary.factors["0"] = 1
		readings := time.Duration(stats.DefaultChart().Recover)
		f.pass((readings - 1) * time.Minute) // a tenth of the interval
		f.is(first, slots.Quarantined, api.HoldQuarantine, tenPercent)
		f.pass(time.Minute)
		f.is(first, slots.Idle, "", "")
		f.logged(`level=INFO msg="quarantine ended" cpus=0 reason="` + tenPercent + `"`)
	})
}

// TestUndrainLearnsAgain checks that after an operator overrules a quarantine, the current times of the slot become the
// baseline.
func TestUndrainLearnsAgain(t *testing.T) {
	watch(t, func(f *watched) {
		end := f.watch()
		f.quarantined()
		other := f.store.values["canary/host/fake/1/alu"]
		f.must(f.m.Undrain(first.CPUs))
		f.must(f.m.Undrain(second.CPUs)) // in use: nothing to learn again
		f.is(first, slots.Idle, "", "")
		end()
		if f.store.values["canary/host/fake/1/alu"] != other {
			t.Error("a slot that was not quarantined has forgotten its baseline")
		}
		f.restart()
		f.watch()
		f.is(first, slots.Idle, "", "")
		if d := f.deviations["0 "+initproc.KernelALU]; d == nil || *d != 0 {
			t.Errorf("deviation %v from the new baseline, want 0", d)
		}
	})
}

// TestUndrainReadsAtOnce checks that a slot that has to learn again is read before it is due.
func TestUndrainReadsAtOnce(t *testing.T) {
	watch(t, func(f *watched) {
		f.watch()
		f.quarantined()
		f.must(f.m.Undrain(first.CPUs))
		f.pass(hostInterval)
		if s := f.m.slots[0]; s.health[initproc.KernelALU].State != stats.Steady {
			t.Errorf("after %v the slot is %+v, want a baseline", hostInterval, s.health[initproc.KernelALU])
		}
	})
}

// TestWhatOutlastsAQuarantine checks that the end of a quarantine lifts no other hold.
func TestWhatOutlastsAQuarantine(t *testing.T) {
	drain := func(f *watched) { f.must(f.m.Drain(first.CPUs, "new fan")) }
	undrain := func(f *watched) { f.must(f.m.Undrain(first.CPUs)) }
	unfit := func(f *watched) {
		f.engine.unfit["0"] = true
		if _, err := f.m.Admit(first); err == nil {
			f.Error("a job is admitted on an unfit slot")
		}
	}
	fit := func(f *watched) { f.engine.unfit["0"] = false; f.m.checkHost() }
	nothing := func(*watched) {}
	for name, tt := range map[string]struct {
		before, during func(*watched)
		want           api.SlotStatus
	}{
		"nothing": {nothing, nothing, api.SlotStatus{State: slots.Idle}},
		"drained before": {drain, nothing, api.SlotStatus{State: slots.Drained, Cause: api.HoldOperator,
			Reason: "new fan"}},
		"drained meanwhile": {nothing, drain, api.SlotStatus{State: slots.Drained, Cause: api.HoldOperator,
			Reason: "new fan"}},
		"undrained meanwhile": {drain, undrain, api.SlotStatus{State: slots.Idle}},
		"unfit before": {unfit, nothing, api.SlotStatus{State: slots.Drained, Cause: api.HoldUnfitHost,
			Reason: unfitReason}},
		"unfit meanwhile": {nothing, unfit, api.SlotStatus{State: slots.Drained, Cause: api.HoldUnfitHost,
			Reason: unfitReason}},
		"fit again meanwhile": {unfit, fit, api.SlotStatus{State: slots.Idle}},
		"drained, unfit, fit": {func(f *watched) { drain(f); unfit(f) }, fit,
			api.SlotStatus{State: slots.Drained, Cause: api.HoldOperator, Reason: "new fan"}},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, func(f *watched) {
				tt.before(f)
				f.m.Observe(report(maxDisturbed+1, explainedBy("0", api.CauseForeign)))
				f.is(first, slots.Quarantined, api.HoldQuarantine, "11 of its last 11 runs were disturbed")
				tt.during(f)
				f.m.Observe(report(recoveryRuns, api.Run{CPUs: "0"}))
				tt.want.CPUs, tt.want.Node = "0", first.Node
				if diff := cmp.Diff(tt.want, f.status(first)); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			})
		})
	}
}

// TestObserve checks which runs take which slot out of use.
func TestObserve(t *testing.T) {
	const eleven = "11 of its last 11 runs were disturbed"
	foreign := explainedBy("0", api.CauseForeign)
	unexplained := foreign
	unexplained.Explained = api.Explained{}
	kept := foreign
	kept.Kept = true
	elsewhere := explainedBy("7", api.CauseForeign)
	type want struct{ first, second string }
	for name, tt := range map[string]struct {
		reports []*api.Report
		want    want
	}{
		"few":                         {[]*api.Report{report(10, foreign)}, want{}},
		"too many":                    {[]*api.Report{report(11, foreign)}, want{first: eleven}},
		"too many of several jobs":    {[]*api.Report{report(5, foreign), report(6, foreign)}, want{first: eleven}},
		"runs that were kept":         {[]*api.Report{report(11, kept)}, want{first: eleven}},
		"causes that explain nothing": {[]*api.Report{report(50, unexplained)}, want{}},
		"neighbours":                  {[]*api.Report{report(50, explainedBy("0", api.CauseNeighbours))}, want{}},
		"the canary":                  {[]*api.Report{report(50, explainedBy("0", api.CauseCanary))}, want{}},
		"on another slot": {[]*api.Report{report(11, explainedBy("1", api.CauseForeign))},
			want{second: eleven}},
		"on no slot": {[]*api.Report{report(50, elsewhere)}, want{}},
		"the last slot stays in use": {[]*api.Report{report(11, foreign),
			report(11, explainedBy("1", api.CauseForeign))}, want{first: eleven}},
		"the other one has recovered": {[]*api.Report{report(11, foreign),
			report(11, explainedBy("1", api.CauseForeign)), report(20, api.Run{CPUs: "0"})}, want{second: eleven}},
		"what led to a quarantine ends": {[]*api.Report{report(11, foreign), report(20, api.Run{CPUs: "0"}),
			report(10, foreign)}, want{}},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, func(f *watched) {
				for _, r := range tt.reports {
					f.m.Observe(r)
				}
				got := want{f.status(first).Reason, f.status(second).Reason}
				if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(want{})); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			})
		})
	}
}

// TestLastSlotShifted checks that a slot that has become slower goes out of use even if it is the last one: no slot is
// better than wrong verdicts.
func TestLastSlotShifted(t *testing.T) {
	watch(t, func(f *watched) {
		f.watch()
		f.must(f.m.Drain(second.CPUs, "one slot is enough"))
		f.quarantined()
	})
}

// TestLastSlotDisturbed checks that the log has one line when the last slot is spared, and another when it happens
// again.
func TestLastSlotDisturbed(t *testing.T) {
	watch(t, func(f *watched) {
		f.must(f.m.Drain(second.CPUs, "one slot is enough"))
		warning := func(n string) string {
			return `level=WARN msg="slot disturbed too often; it stays in use because it is the last one" cpus=0 ` +
				`reason="` + n + ` runs were disturbed"`
		}
		f.m.Observe(report(11, explainedBy("0", api.CauseForeign)))
		f.m.Observe(report(1, explainedBy("0", api.CauseForeign)))
		f.is(first, slots.Idle, "", "")
		f.logged(warning("11 of its last 11"))
		f.m.Observe(report(historyRuns, api.Run{CPUs: "0"}))
		f.m.Observe(report(11, explainedBy("0", api.CauseForeign)))
		f.logged(warning("11 of its last 50"))
		f.must(f.m.Undrain(second.CPUs))
		f.m.Observe(report(1, explainedBy("0", api.CauseForeign)))
		f.is(first, slots.Quarantined, api.HoldQuarantine, "12 of its last 50 runs were disturbed")
	})
}

// TestNoProgramQuarantines checks that the slot stays in use, regardless of what a program does to its own runs and of work
// on other CPUs.
func TestNoProgramQuarantines(t *testing.T) {
	watch(t, func(f *watched) {
		for _, e := range api.Catalogue() {
			f.m.Observe(report(historyRuns, api.Run{CPUs: "0", Disturbed: []api.Cause{e.Cause}}))
			f.is(first, slots.Idle, "", "")
		}
	})
}

// TestUnfitHost checks that a slot of an unfit host gets no job until the host is fit, that nothing else returns it to
// use, and that its return lifts no other hold.
func TestUnfitHost(t *testing.T) {
	watch(t, func(f *watched) {
		// without canaries
		f.m = NewMonitor(MonitorOptions{Engine: f.engine, Pool: f.pool, Store: f.store,
			Doctor: func() api.DoctorReport { return f.doctor }})
		f.must(f.m.Restore(f.Context()))
		f.engine.unfit["0"], f.engine.unfit["1"] = true, true
		for _, s := range []slots.Slot{first, second} {
			leave, err := f.m.Admit(s)
			if leave != nil || err == nil || err.Error() != unfitReason {
				t.Errorf("admitted on slot %s: %v", s.CPUs, err)
			}
		}
		f.must(f.m.Drain(second.CPUs, unfitReason)) // with the text of the other cause
		f.watch()
		f.pass(hostInterval)
		f.is(first, slots.Drained, api.HoldUnfitHost, unfitReason)
		clear(f.engine.unfit)
		f.pass(10 * time.Second)
		f.is(first, slots.Idle, "", "")
		f.is(second, slots.Drained, api.HoldOperator, unfitReason)
		f.must(f.pool.Hold(first.CPUs, slots.Hold{Cause: api.HoldQuarantine, Reason: unfitReason}))
		f.pass(hostInterval)
		f.is(first, slots.Quarantined, api.HoldQuarantine, unfitReason)
		leave, err := f.m.Admit(first)
		f.must(err)
		leave()
	})
}

// TestSettingsChange checks that a slot is read immediately after the settings of the host have changed, but not
// because they are checked.
func TestSettingsChange(t *testing.T) {
	failed := api.DoctorReport{Checks: []api.DoctorCheck{{ID: "turbo-off", Status: api.DoctorFail}}}
	for name, change := range map[string]func(f *watched){
		"nothing": nil,
		"doctor":  func(f *watched) { f.doctor = failed },
		"turbo":   func(f *watched) { f.engine.turbo = machine.TurboOn },
		"fitness": func(f *watched) { f.engine.unfit["0"], f.engine.unfit["1"] = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, func(f *watched) {
				f.watch()
				f.m.slots[0].streak = maxStreak()
				f.canary.read = nil
				f.pass(interval / 2)
				if len(f.canary.read) > 0 {
					t.Fatalf("read %v before anything has changed", f.canary.read)
				}
				var want []string
				if change != nil {
					change(f)
					want = []string{"0 alu", "0 syscall", "0 l3-short", "1 alu", "1 syscall", "1 l3-short"}
				}
				f.pass(hostInterval)
				clear(f.engine.unfit) // nothing is read while the host is unfit
				f.pass(hostInterval)
				if diff := cmp.Diff(want, f.canary.read); diff != "" {
					t.Errorf("read (-want +got):\n%s", diff)
				}
				if n := f.m.slots[0].streak; change != nil && n != 0 {
					t.Errorf("streak %d", n)
				}
			})
		})
	}
}
