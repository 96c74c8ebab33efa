package main

import (
	"github.com/spf13/cobra"

	"judged/internal/service/daemon"
)

func (a *app) restoreCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "restore [flags] FILE",
		Short: "Load what backup saved into an empty database",
		Long: `Load jobs, reports and files that judged backup saved. The daemon must not run,
and its database must have no jobs: nothing is ever replaced. The whole file is
verified first, and either all of it is loaded or nothing.

Jobs that ran when the backup was made are judged again.

Exit codes: 0 done, 1 done, but the backup lacks files of jobs that are not done,
2 wrong usage, 3 nothing was restored.`,
		Example: `  judged restore --data-dir /var/lib/judged /backup/judged-2026-11-22.tar`,
		Args:    exactly(1, "the FILE to read"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.databaseConfig(cmd)
			if err != nil {
				return err
			}
			archive, err := daemon.Restore(cmd.Context(), c, args[0])
			if err != nil {
				return asUnusable(err)
			}
			return a.printArchive("restored", archive, asJSON)
		},
	}
	a.configFlag(cmd)
	dataDirFlag(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}
