package initproc

import (
	"errors"
	"sync/atomic"
	"syscall"

	"judged/internal/base/linux"
)

// park forks the child that becomes the solution. It does not wait for the child, which reports to judged.
func park(f LoadFDs, self int, pidHandoff *atomic.Int32, without Layers) (int, error) {
	b, err := readAll(f.Load)
	if err != nil {
		return 0, err
	}
	l := new(Load)
	if err := l.Decode(b); err != nil {
		return 0, err
	}
	steps, err := childSteps(l, f, l.path(), without)
	if err != nil {
		return 0, err
	}
	if err := linux.ChildrenIn(f.Process1); err != nil {
		return 0, err
	}
	pid, err := linux.ForkSteps(&linux.ForkedChild{Cgroup: f.Birth, Sibling: true, Report: f.Report, PIDHandoff: pidHandoff,
		Steps: steps})
	return pid, errors.Join(err, linux.ChildrenIn(self))
}

// ExecStepName is the name of the step whose failure means that the program cannot be executed. A failure of
// any other step is a failure of judged.
const ExecStepName = "execve"

// StepName returns the name of the step at which a parked child failed.
func StepName(l *Load, f LoadFDs, without Layers, step int32) string {
	steps, err := childSteps(l, f, l.Args[0], without)
	if err != nil || step < 0 || int(step) >= len(steps) {
		return "unknown step"
	}
	return steps[step].Name
}

// childSteps returns all steps of the child before it becomes the solution, in the only order that works. Steps
// of a layer in without are omitted.
func childSteps(l *Load, f LoadFDs, path string, without Layers) ([]linux.Step, error) {
	var steps []linux.Step
	add := func(s ...linux.Step) { steps = append(steps, s...) }
	layer := func(of Layers, s ...linux.Step) {
		if !without.Has(of) {
			add(s...)
		}
	}

	// Only judged-init may hold its end of the connection. If a child held it too, judged would wait for an answer
	// after judged-init has exited.
	add(linux.CloseStep(controlFD))
	// Join the v1 groups first, while the child has one thread and the required privileges. Everything after
	// this is charged to the run until judged takes its baseline, and nothing before it.
	for _, tasks := range f.Tasks {
		layer(Cgroup, linux.WriteStep("write tasks", tasks, []byte("0")))
	}
	add(linux.JoinStep(f.Process1))
	// The run's file systems are created with the run. Process 1 may have been prepared during the previous run
	// of the slot, and the times of the box and of /proc would show how long that run was.
	add(linux.AttachStep(f.Box, Box), procStep(without))
	if f.Tree >= 0 {
		add(linux.AttachStep(f.Tree, Host))
	}
	if f.Files >= 0 {
		add(linux.AttachStep(f.Files, Files))
	}
	if f.Input >= 0 {
		add(linux.AttachStep(f.Input, WorkDir+"/"+l.InputFile))
	}
	add(linux.ChdirStep(WorkDir))
	// Its current group becomes the root of the cgroup tree that the child sees.
	layer(Namespaces, linux.NewCgroupNamespaceStep())
	// The daemon may have another policy, nice value or affinity.
	add(linux.NormalPolicyStep(), linux.NormalPriorityStep(), linux.AffinityStep(l.CPUs))
	// execve resets signal handlers, but not ignored signals.
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE,
		syscall.SIGCHLD} {
		add(linux.DefaultSignalStep(s))
	}
	add(linux.AllSignalsStep())
	// Its own process group, so that kill(0) reaches no other process. Not a session: with sched_autogroup_enabled
	// setsid costs 0.5 to 1 ms, and there is no terminal in the sandbox that a session could control.
	add(linux.NewProcessGroupStep(), linux.UmaskStep(0o022))
	add(linux.DupStep(f.Stdin, 0), linux.DupStep(f.Stdout, 1), linux.DupStep(f.Stderr, 2))
	for i, fd := range f.Open {
		add(linux.DupStep(fd, FirstOpen+i))
	}
	// After the dup3 calls, which clear the close-on-exec flag of the new descriptor.
	add(linux.CloseOnExecStep(FirstOpen + len(f.Open)))
	layer(Rlimits, limitSteps(l)...)
	// Capabilities. judged-init has already emptied the bounding set. The securebits need CAP_SETPCAP and the groups
	// CAP_SETGID, so both come before the change of user.
	layer(User, linux.ClearAmbientStep(), linux.LockSecurebitsStep())
	layer(User, linux.SetgroupsStep(), linux.SetgidStep(l.UID), linux.SetuidStep(l.UID))
	layer(User, linux.NoCapabilitiesStep())
	// A change of user clears the parent-death signal, so it is set after that.
	add(linux.DieWithParentStep())
	// An unprivileged process needs no_new_privs to install a filter. It also makes execve ignore set-user-ID
	// bits.
	layer(User, linux.NoNewPrivsStep())
	// The filter comes last: it allows the steps after it and none of those before it.
	if len(l.Seccomp) > 0 {
		layer(Seccomp, linux.SeccompStep(l.Seccomp))
	}
	add(linux.ParkedUsageSteps(f.Report)...)
	add(linux.ReadByteStep("read go", f.Gate))
	exec, err := linux.ExecStep(path, l.Args, l.Env)
	if err != nil {
		return nil, err
	}
	exec.Name = ExecStepName
	return append(steps, exec), nil
}

// procStep mounts a /proc of the run's pid namespace that shows a process only its own entries. The mount also hides
// judged-init's file, which lies below it.
func procStep(without Layers) linux.Step {
	if without.Has(Root) {
		return linux.MountStep("proc", "/proc", 0, "")
	}
	return linux.MountStep("proc", "/proc", linux.NoSuid|linux.NoDev|linux.NoExec|linux.ReadOnly,
		"hidepid=2,subset=pid")
}

// limitSteps returns the steps that set resource limits. CPU time is not among them: RLIMIT_CPU is sampled by ticks,
// never fires after a fork on a nohz_full CPU, and setting it with prlimit turns the tick on again there. Address
// space and data are limited by the memory cgroup.
func limitSteps(l *Load) []linux.Step {
	return []linux.Step{
		// 1 and not 0: with a piped core_pattern 0 still runs the host's helper, as root, on the solution's core
		// (fs/coredump.c treats 1 as "no dump through a pipe").
		linux.RlimitStep(linux.LimitCore, 1),
		linux.RlimitStep(linux.LimitFileSize, l.FileSize),
		// Not infinite, which would select the legacy memory layout, and not huge: glibc gives every thread a stack
		// of this size.
		linux.RlimitStep(linux.LimitStack, l.Stack),
		linux.RlimitStep(linux.LimitOpenFiles, l.OpenFiles),
		linux.RlimitStep(linux.LimitLocked, 0),
		linux.RlimitStep(linux.LimitMsgQueue, 0),
		linux.RlimitStep(linux.LimitNice, 0),
		linux.RlimitStep(linux.LimitRealtime, 0),
		linux.RlimitStep(linux.LimitSigPending, 256),
	}
}
