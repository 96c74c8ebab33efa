//go:build man

package main

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// extraCommands are those of a judged that is built to make its manual pages. They need libraries that the daemon does not.
func (a *app) extraCommands(root *cobra.Command) []*cobra.Command {
	return []*cobra.Command{{
		Use:    "man DIR",
		Short:  "Write the manual pages of all commands",
		Hidden: true,
		Args:   exactly(1, "the folder DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			name, _, _ := strings.Cut(root.Use, " ")
			root.DisableAutoGenTag = true
			// A fixed date, so that two builds of one version are equal.
			date := time.Unix(0, 0)
			return doc.GenManTree(root, &doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Source: name,
				Manual: "User Commands", Date: &date}, args[0])
		},
	}}
}
