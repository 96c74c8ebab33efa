package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"judged/internal/api"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"judged/internal/base/poll"
	"judged/internal/engine/languages"
	"judged/internal/host/doctor"
	"judged/internal/host/hostfs"
	"judged/internal/sandbox"
)

// environ returns the environment variables that override the configuration.
func environ() []string { return os.Environ() }

func (a *app) doctorCommand() *cobra.Command {
	var asJSON, strict, fingerprint, watch bool
	var explain, cpuList, cpus, root, capture, member string
	var window time.Duration
	var probes probeFlags
	var daemon remote
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether this host is fit to judge",
		Long: `Check whether this host is fit to judge. Doctor changes nothing. Run it as root
so that it can read all settings.

--capture saves what the checks read, without data that they do not use, for a
bug report. --root examines such a capture instead of this host. The kernel's
counters are read twice, one second apart; for a captured host only the counts
since boot are known. --probe also runs programs on the slots, which takes
seconds to minutes and needs the privileges of judged run. --url prints the
report of a running daemon. Only a front can tell whether the other fronts of
its database have the same settings.

Exit codes: 0 ready, 1 not ready, 2 wrong usage, 3 the host could not be
examined.`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("url") {
				return a.remoteDoctor(cmd, daemon, asJSON)
			}
			if cmd.Flags().Changed("token-from") {
				return usagef("--token-from is for the report of a daemon: give its address with --url")
			}
			if window < 0 || window > maxWindow {
				return usagef("--window %s: give 0 to %s", window, maxWindow)
			}
			if watch {
				for _, other := range []string{"json", "fingerprint", "root", "capture", "explain", "probe"} {
					if cmd.Flags().Changed(other) {
						return usagef("--watch prints the changes on this host: leave out --%s", other)
					}
				}
			}
			if capture == "-" {
				return usagef("read --capture %q: want the name of a file; judged does not write a capture to "+
					"stdout", capture)
			}
			if capture != "" && (asJSON || cmd.Flags().Changed("explain")) {
				return usagef("--capture prints nothing: leave out --json and --explain")
			}
			if err := shortCPUList(cmd, cpus); err != nil {
				return err
			}
			if err := probes.check(root != "" || capture != "", fingerprint); err != nil {
				return err
			}
			if cmd.Flags().Changed("explain") {
				return a.explain(explain, asJSON)
			}
			c, err := a.loadConfig()
			if err != nil {
				return err
			}
			if err := overlaySlots(&c, cmd, cpuList); err != nil {
				return err
			}
			host, err := examined(root)
			if err != nil {
				return err
			}
			o := doctor.Options{FS: host, CPUs: c.Slots.CPUList, Width: c.Slots.Width, Strict: strict || c.Slots.Strict,
				Class: c.Slots.Class, Window: window}
			if o.Program, err = sandbox.InitProgram(); err != nil {
				return fmt.Errorf("read judged-init: %w", err)
			}
			if o.Member, err = poolMember(cmp.Or(member, c.Slots.Member)); err != nil {
				return err
			}
			if root == "" {
				catalogue, err := languages.Load(c.Languages.File)
				if err != nil {
					return &usageError{err}
				}
				o.Languages = catalogue.OnHost(c.Sandbox.Root)
			}
			if capture != "" {
				return asDoctorUsage(captureHost(cmd.Context(), o, capture))
			}
			if fingerprint {
				return a.printFingerprint(cmd.Context(), c, o, probes)
			}
			r, err := doctor.Run(cmd.Context(), o)
			if err != nil {
				return asDoctorUsage(err)
			}
			r.Version = version
			if len(probes.ids) > 0 {
				if err := a.probe(cmd.Context(), c, &r, probes, o.Member); err != nil {
					return err
				}
			}
			if err := a.printDoctor(r, asJSON); !watch || err != nil && !errors.Is(err, errNo) {
				return err
			}
			return a.watchDoctor(cmd.Context(), o, r)
		},
	}
	cmd.Flags().StringVar(&daemon.url, "url", "", "print the report of the daemon at `URL`, such as a front")
	cmd.Flags().StringVar(&daemon.token, "token-from", "", tokenFromUsage)
	a.configFlag(cmd)
	cpuListFlag(cmd, &cpuList)
	cpusFlag(cmd, &cpus)
	cmd.Flags().StringVar(&root, "root", "", "examine a captured host: a `DIR` or a file written by --capture")
	cmd.Flags().StringVar(&capture, "capture", "",
		"write the data that the checks read to `FILE`, a .tar.gz, and print no report")
	cmd.Flags().DurationVar(&window, "window", time.Second,
		"`TIME` between two readings of the kernel's counters; 0 reads once")
	cmd.Flags().BoolVar(&fingerprint, "fingerprint", false,
		"print the properties of this host that affect times, to compare the hosts of a pool; with "+
			"--probe=probe-canary also the times of reference kernels")
	cmd.Flags().StringVar(&member, "pool-member", "",
		"compare with the fingerprint in `FILE`, printed on another host of the pool")
	probes.add(cmd)
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&watch, "watch", false,
		"examine the host repeatedly and print each check whose status changes, until interrupted")
	cmd.Flags().BoolVar(&strict, "strict", false, "also fail for second-class findings")
	cmd.Flags().StringVar(&explain, "explain", "",
		"explain what `ID` is: a check, a cause of disturbed runs, or a value of confidence, decided_by or fault")
	return cmd
}

// remoteDoctor prints the report of a daemon, which has its own settings.
func (a *app) remoteDoctor(cmd *cobra.Command, daemon remote, asJSON bool) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"url", "token-from", "json"}, f.Name) {
			err = usagef("--url prints the report of a daemon: leave out --%s", f.Name)
		}
	})
	if err != nil {
		return err
	}
	cl, err := daemon.client()
	if err != nil {
		return err
	}
	r, err := cl.Doctor(cmd.Context())
	if err != nil {
		return refused(err)
	}
	return a.printDoctor(r, asJSON)
}

// watchPause is the time between two examinations with --watch. One takes a few milliseconds and the window.
const watchPause = 2 * time.Second

// watchDoctor prints the checks whose status changes, until ctx is done.
func (a *app) watchDoctor(ctx context.Context, o doctor.Options, last api.DoctorReport) error {
	for {
		poll.Sleep(ctx, watchPause)
		r, err := doctor.Run(ctx, o)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = doctor.WriteChanges(a.out, last, r, time.Now())
		}
		if err != nil {
			return asDoctorUsage(err)
		}
		last = r
	}
}

// maxWindow bounds --window. Nobody waits longer at a prompt.
const maxWindow = time.Hour

// examined opens the host that doctor examines.
func examined(root string) (hostfs.FS, error) {
	if root == "" {
		return hostfs.New("/"), nil
	}
	host, err := hostfs.OpenCaptured(root)
	if err != nil {
		return hostfs.FS{}, &usageError{err}
	}
	return host, nil
}

// captureHost writes a capture to a new file. It never overwrites one, which may be the capture of another host.
func captureHost(ctx context.Context, o doctor.Options, name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return &usageError{fmt.Errorf("capture host: %w", err)}
	}
	err = errors.Join(doctor.Capture(ctx, o, f), f.Close())
	if err != nil {
		os.Remove(name)
	}
	return err
}

func asDoctorUsage(err error) error {
	if _, ok := errors.AsType[*doctor.UsageError](err); ok {
		return &usageError{err}
	}
	return err
}

func (a *app) printDoctor(r api.DoctorReport, asJSON bool) error {
	var err error
	if asJSON {
		err = a.printJSON(r)
	} else {
		err = doctor.WriteTable(a.out, r)
	}
	if err == nil && !r.Ready {
		err = errNo
	}
	return err
}

// explanation formats the description of a check. Each command is on a line by itself, so that it can be copied.
func explanation(e doctor.Explanation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s\n\nwanted: %s\neffect: %s\n\nsee it with\n    %s\n", e.ID, e.Severity, e.Title, e.Wanted,
		e.Effect, e.Confirm)
	if len(e.Fix.Runtime) > 0 {
		fmt.Fprintf(&b, "\nfix it until the next boot with\n    %s\n", strings.Join(e.Fix.Runtime, "\n    "))
	}
	if e.Fix.Boot != "" {
		fmt.Fprintf(&b, "\nfix it permanently with\n    %s\n", e.Fix.Boot)
	}
	if len(e.Fix.Runtime) > 0 || e.Fix.Boot != "" {
		b.WriteString("\nR are the reserved CPUs, H the others.\n")
	}
	return b.String()
}
