package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func (a *app) limitCommand() *cobra.Command {
	var o verifyOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "limit [flags] PACKAGE",
		Short: "Propose a time limit from the jury's solutions",
		Long: `Propose a time limit from the jury's solutions. It needs root.

The solutions of PACKAGE that must be accepted are judged, and the slowest ones
run several times on their slowest test. The limit is the CPU time of the
slowest solution, multiplied by the factor of the package's format and rounded
up to the format's resolution. Solutions that must be too slow are judged with
that limit. Solutions with the CPU time of the slowest one are then simulated
with the spread that was measured on this host, to see how many of them would be
rejected.

Exit codes: 0 all results are as expected, 1 some are not, so the limit may be
wrong, 2 wrong usage or an unusable package, 3 judged itself could not do its
work.`,
		Example: `  judged limit problem/
  judged limit --repeats 20 problem.zip`,
		Args: exactly(1, "one PACKAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := a.openVerifier(cmd, args[0], o)
			if err != nil {
				return err
			}
			v.repeatAlways = true
			own := v.pkg.DropTimeLimits()
			p, err := v.propose(cmd.Context())
			p.Replaced = own
			if err == nil {
				err = v.judgeTooSlow(cmd.Context(), &p)
			}
			if err := errors.Join(err, v.close()); err != nil {
				return v.pkg.Invalid(err)
			}
			a.printFindings(v.pkg.Findings)
			if asJSON {
				err = a.printJSON(p)
			} else {
				err = p.print(a.out)
			}
			if err == nil && len(p.Differences) > 0 {
				err = errNo
			}
			return err
		},
	}
	verifyFlags(cmd, a, &o)
	jsonFlag(cmd, &asJSON)
	return cmd
}
