package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the Makefile from the newest tag.
var version = "devel"

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.printJSON(map[string]string{"version": version, "revision": revision(), "go": runtime.Version(),
					"os": runtime.GOOS, "arch": runtime.GOARCH})
			}
			_, err := fmt.Fprintf(a.out, "judged %s (%s, %s, %s/%s)\n", version, revision(), runtime.Version(),
				runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// revision returns the commit that the program was built from, if known.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown revision"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "unknown revision"
}
