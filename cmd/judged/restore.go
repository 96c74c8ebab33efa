package main

import (
	"github.com/spf13/cobra"

	"judged/internal/service/daemon"
)

func (a *app) restoreCommand() *cobra.Command {
	return a.archiveCommand("restored", "read a backup from stdin", daemon.Restore, &cobra.Command{
		Use:   "restore [flags] FILE",
		Short: "Load a backup into an empty database",
		Long: `Load jobs, reports and files from a file written by judged backup. The daemon
must not be running, and its database must have no jobs, because nothing is
replaced. The whole file is verified first. Either all of it is loaded, or
nothing.

Jobs that were running at the time of the backup are judged again.

Exit codes: 0 done, 1 done, but the backup lacks files of unfinished jobs,
problems or reports, 2 wrong usage, 3 nothing was restored.`,
		Example: `  judged restore --data-dir /var/lib/judged /backup/judged-2026-11-22.tar`,
		Args:    exactly(1, "the FILE to read"),
	})
}
