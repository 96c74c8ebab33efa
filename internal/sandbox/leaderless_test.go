package sandbox

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"judged/internal/sandbox/initproc"
)

// TestLeaderless: processes whose first thread has exited, in each phase of a run. cgroup.kill does not reach
// them (Linux 6.1 and 6.18).
func TestLeaderless(t *testing.T) {
	l := newLab(t, nil)
	program := File{Name: "leaderless", Path: built(t, "leaderless"), Exec: true}
	type want struct {
		Stop   Stop
		Idle   bool
		Code   int
		Signal syscall.Signal
	}
	killed := func(s Stop) want { return want{Stop: s, Signal: syscall.SIGKILL} }
	idle := want{Stop: StopWall, Idle: true, Signal: syscall.SIGKILL}
	for _, tt := range []struct {
		args   []string
		cancel bool
		want   want
	}{
		{args: []string{"exit"}, want: want{Code: 3}},
		{args: []string{"return"}},
		{args: []string{"spin"}, want: killed(StopCPU)},
		{args: []string{"sleep"}, want: idle},
		{args: []string{"fork"}, want: killed(StopCPU)},
		{args: []string{"exec"}, want: killed(StopWall)},
		{args: []string{"child", "spin"}, want: killed(StopCPU)},
		{args: []string{"child", "sleep"}, want: idle},
		{args: []string{"child", "fork"}, want: killed(StopCPU)},
		{args: []string{"child", "exec"}, want: killed(StopWall)},
		{args: []string{"orphan", "spin"}},
		{args: []string{"orphan", "sleep"}},
		{args: []string{"orphan", "fork"}},
		{args: []string{"orphan", "exec"}},
		{args: []string{"sleep"}, cancel: true, want: killed(StopCancelled)},
		{args: []string{"spin"}, cancel: true, want: killed(StopCancelled)},
		{args: []string{"child", "sleep"}, cancel: true, want: killed(StopCancelled)},
	} {
		name := strings.Join(tt.args, " ")
		if tt.cancel {
			name += " cancelled"
		}
		t.Run(name, func(t *testing.T) {
			if tt.want.Stop == StopWall {
				t.Parallel() // CPU time does not matter, and each takes 4 s
			}
			s, err := l.Prepare(l.slot)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			spec := Spec{Args: append([]string{"./leaderless"}, tt.args...), Files: []File{program}, Limits: limits()}
			spec.Limits.CPUTime, spec.Limits.WallTime = time.Minute, time.Minute
			switch tt.want.Stop {
			case StopCPU:
				spec.Limits.CPUTime = time.Second
			case StopWall:
				spec.Limits.WallTime = 4 * time.Second // it must sleep for the last quarter
			}
			loads(t, s, spec, "")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.cancel {
				time.AfterFunc(500*time.Millisecond, cancel)
			}
			r, err := s.Run(ctx)
			if err != nil {
				t.Fatal(err)
			}
			got := want{r.Stop, r.Idle, r.Code, r.Signal}
			if tt.want.Stop == StopWall && !tt.want.Idle {
				got.Idle = false // exec takes a varying amount of time
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestLeaderlessWithoutNamespaces omits the namespaces, because the end of the pid namespace would also kill
// the processes: killing the group must suffice.
func TestLeaderlessWithoutNamespaces(t *testing.T) {
	l := newLab(t, func(o *Options) { o.Without = initproc.Namespaces })
	for _, kind := range []string{"spin", "sleep"} {
		r, _ := l.run(t, Spec{Args: []string{"./leaderless", "orphan", kind}, Limits: limits(),
			Files: []File{{Name: "leaderless", Path: built(t, "leaderless"), Exec: true}}})
		if r.Code != 0 || r.Signal != 0 {
			t.Errorf("%s: %+v", kind, r)
		}
	}
}
