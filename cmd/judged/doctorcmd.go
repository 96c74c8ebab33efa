package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"judged/internal/doctor"
	"judged/internal/hostfs"
)

// environ is where configuration is overlaid from.
func environ() []string { return os.Environ() }

func (a *app) doctorCommand() *cobra.Command {
	var asJSON, strict bool
	var explain, cpuList string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether this host is fit to judge",
		Long: `Check whether this host is fit to judge. Nothing is changed.

Exit codes: 0 ready, 1 not ready, 2 wrong usage, 3 the host could not be examined.`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if explain != "" {
				return a.explain(explain)
			}
			c, err := a.loadConfig()
			if err != nil {
				return err
			}
			if err := overlaySlots(&c, cmd, cpuList, 0); err != nil {
				return err
			}
			r, err := doctor.Run(cmd.Context(), doctor.Options{FS: hostfs.New("/"), CPUs: c.Slots.CPUList, Width: c.Slots.Width,
				Strict: strict || c.Slots.Strict})
			if err != nil {
				return asDoctorUsage(err)
			}
			return a.printDoctor(r, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.Flags().BoolVar(&strict, "strict", false, "second-class findings make the host unready too")
	cmd.Flags().StringVar(&explain, "explain", "", "tell what a check, by its `ID`, reads and why it matters")
	cmd.Flags().StringVar(&cpuList, "cpu-list", "", "the reserved CPUs, `LIST` or hex mask (default: config, else the isolated set, else the last CPU)")
	return cmd
}

func asDoctorUsage(err error) error {
	var u *doctor.UsageError
	if errors.As(err, &u) {
		return &usageError{err}
	}
	return fmt.Errorf("examine host: %w", err)
}

func (a *app) printDoctor(r doctor.Report, asJSON bool) error {
	var err error
	if asJSON {
		e := json.NewEncoder(a.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		err = r.WriteTable(a.out, isTerminal(a.out))
	}
	if err == nil && !r.Ready {
		err = errNo
	}
	return err
}

func (a *app) explain(id string) error {
	e, ok := doctor.Explain(id)
	if !ok {
		return usagef("explain %q: there is no such check; judged doctor lists them", id)
	}
	_, err := fmt.Fprintln(a.out, e)
	return err
}
