package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"judged/internal/base/config"
	"judged/internal/jobs"
	"judged/internal/service/daemon"
)

func (a *app) backupCommand() *cobra.Command {
	return a.archiveCommand("saved", "write a backup to stdout", daemon.Backup, &cobra.Command{
		Use:   "backup [flags] FILE",
		Short: "Save all jobs and reports to a file",
		Long: `Save all jobs and reports to a file, with the stored output of programs and the
files of problems and unfinished jobs. The file must not exist. The daemon may be running:
the backup is a consistent snapshot of its database. A backup can be restored to
SQLite or PostgreSQL, so it can also move jobs from one to the other. It does
not contain the configuration or the files of finished jobs.

Exit codes: 0 done, 1 done, but files of unfinished jobs, problems or reports are
missing, 2 wrong usage, 3 no backup was made.`,
		Example: `  judged backup --data-dir /var/lib/judged /backup/judged-$(date +%F).tar
  judged backup -c judged.toml before-the-contest.tar`,
		Args: exactly(1, "the FILE to write"),
	})
}

// archiveCommand completes a command that copies between the database and a file, and prints what it did.
func (a *app) archiveCommand(did, not string, do func(context.Context, config.Config, string) (jobs.Archive, error),
	cmd *cobra.Command) *cobra.Command {
	var asJSON bool
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if args[0] == "-" || args[0] == "" {
			return usagef("read FILE %q: want the name of a file; judged does not %s", args[0], not)
		}
		c, err := a.databaseConfig(cmd)
		if err != nil {
			return err
		}
		archive, err := do(cmd.Context(), c, args[0])
		if err != nil {
			return asUnusable(err)
		}
		return a.printArchive(did, archive, asJSON)
	}
	a.configFlag(cmd)
	dataDirFlag(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func dataDirFlag(cmd *cobra.Command) {
	cmd.Flags().String("data-dir", "", "`DIR` for jobs and blobs (default /var/lib/judged)")
}

// databaseConfig returns the configuration, with --data-dir applied. It never returns SQLite for a fleet whose jobs are
// elsewhere: a backup of that would succeed without a job.
func (a *app) databaseConfig(cmd *cobra.Command) (config.Config, error) {
	c, err := a.loadConfig()
	if err != nil {
		return c, err
	}
	if flag := cmd.Flags().Lookup("data-dir"); flag.Changed {
		c.DataDir = flag.Value.String()
	}
	if err := c.Validate(); err != nil {
		return c, &usageError{err}
	}
	if c.Fleet.Role == config.RoleJudge {
		return c, usagef("fleet.role: a judge has no jobs; use the configuration of its front")
	}
	return c, frontDatabase(c)
}

// asUnusable turns errors about unusable files into usage errors.
func asUnusable(err error) error {
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, jobs.ErrBadBackup) {
		return &usageError{err}
	}
	return err
}

// printArchive prints what was saved or restored. It returns errNo if files are missing.
func (a *app) printArchive(verb string, archive jobs.Archive, asJSON bool) (err error) {
	if asJSON {
		err = a.printJSON(map[string]any{"jobs": archive.Jobs, "unfinished": archive.Unfinished, "files": archive.Blobs,
			"missing": append([]string{}, archive.Missing...), "created_at": archive.Created})
	} else {
		_, err = fmt.Fprintf(a.out, "%s %d jobs as of %s, %d of them unfinished, with %d files\n",
			verb, archive.Jobs, archive.Created.Local().Format("2006-01-02 15:04:05 MST"), archive.Unfinished,
			archive.Blobs)
	}
	if err != nil || len(archive.Missing) == 0 {
		return err
	}
	fmt.Fprintf(a.err, "judged: %d files of unfinished jobs, problems and reports are missing or damaged, the first one "+
		"%s; upload them again: unfinished jobs and problems cannot be judged without them, reports only lack an output\n",
		len(archive.Missing), archive.Missing[0])
	return errNo
}
