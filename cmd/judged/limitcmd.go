package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"judged/internal/base/units"
	"judged/internal/service/render"
)

func (a *app) limitCommand() *cobra.Command {
	var cpuList string
	var jobs, repeats int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "limit [flags] PACKAGE",
		Short: "Propose a time limit from the jury's solutions",
		Long: `Propose a time limit from the jury's solutions. It needs root.

The solutions of PACKAGE that must be within the limit are run several times.
The limit is the CPU time of the slowest accepted one on its slowest test, times
the factor of the package's format, rounded up to its resolution.`,
		Example: `  judged limit problem/
  judged limit --repeats 20 problem.zip`,
		Args: exactly(1, "one PACKAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := a.openVerifier(cmd, args[0], verifyOptions{cpuList, jobs, repeats})
			if err != nil {
				return err
			}
			p, err := v.propose(cmd.Context())
			if err := errors.Join(err, v.close()); err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(p)
			}
			_, err = fmt.Fprintf(a.out, "time limit %s: %g times %s of %s, rounded up to %s\n"+
				"its runs took %s to %s, which gives limits from %s to %s\n",
				units.Duration(p.TimeLimit), v.pkg.TimeRule.Accepted, units.Duration(p.Slowest.CPUTime),
				render.Printable(p.Slowest.Name), units.Duration(v.pkg.TimeRule.Resolution),
				units.Duration(p.Slowest.Low),
				units.Duration(p.Slowest.High), units.Duration(p.Low), units.Duration(p.High))
			return err
		},
	}
	verifyFlags(cmd, a, &cpuList, &jobs, &repeats)
	jsonFlag(cmd, &asJSON)
	return cmd
}
