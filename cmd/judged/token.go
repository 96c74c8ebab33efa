package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"judged/internal/base/config"
	"judged/internal/base/text"
	"judged/internal/service/httpapi"
)

func (a *app) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Add, list, change and revoke tokens",
		Long: `Edit the token file of the daemon, http.token_file. The file contains only the
SHA-256 of each secret. Changes take effect when the daemon reads the file
again, at SIGHUP: systemctl reload judged. All fronts of a fleet need the same
file.

Exit codes: 0 done, 2 wrong usage, no such token or an invalid file, 3 the file
could not be written.`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.tokenAddCommand(), a.tokenListCommand(), a.tokenRotateCommand(), a.tokenRevokeCommand())
	return cmd
}

// tokenCommandOf completes a command that edits or reads the file of tokens.
func (a *app) tokenCommandOf(cmd *cobra.Command, run func(c config.Config, args []string) error) *cobra.Command {
	a.configFlag(cmd)
	cmd.Flags().String("token-file", "", "`FILE` of tokens (default http.token_file of the configuration)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.loadConfig()
		if err != nil {
			return err
		}
		if flag := cmd.Flags().Lookup("token-file"); flag.Changed {
			c.HTTP.TokenFile = flag.Value.String()
		}
		if c.HTTP.TokenFile == "" {
			return usagef("no file of tokens; give --token-file FILE, or -c FILE with a configuration that has " +
				"http.token_file")
		}
		return asTokenUsage(run(c, args))
	}
	return cmd
}

// asTokenUsage makes all errors usage errors, except for those of the file system.
func asTokenUsage(err error) error {
	ours := errors.As(err, new(*fs.PathError)) || errors.As(err, new(*os.LinkError))
	if err == nil || ours && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return &usageError{err}
}

// unknownTenant reports whether the configuration, if one was given, lacks the tenant of a token.
func (a *app) unknownTenant(c config.Config, n httpapi.TokenInfo) bool {
	return a.config != "" && n.Tenant != "" &&
		!slices.ContainsFunc(c.Tenants, func(t config.Tenant) bool { return t.Name == n.Tenant })
}

// newToken is the JSON output of add and rotate.
type newToken struct {
	Name   string `json:"name"`
	Secret string `json:"secret"`
	File   string `json:"file"`
}

// printSecret prints the secret alone on stdout, so that a script can read it, and says on stderr what to do next.
func (a *app) printSecret(t newToken, asJSON bool, next string) (err error) {
	if asJSON {
		err = a.printJSON(t)
	} else {
		_, err = fmt.Fprintln(a.out, t.Secret)
	}
	if err == nil {
		_, err = fmt.Fprintf(a.err, "judged: store this secret, it is not shown again; %s\n", next)
	}
	return err
}

const reloadTokens = "the daemon reads %s at SIGHUP: systemctl reload judged"

func (a *app) tokenAddCommand() *cobra.Command {
	var n httpapi.TokenInfo
	var asJSON bool
	cmd := a.tokenCommandOf(&cobra.Command{
		Use:   "add [flags] NAME",
		Short: "Add a token, and print its secret once",
		Long: `Add a token to the token file and print its secret on stdout. The file is
created with mode 0600 if it does not exist. It contains only the SHA-256 of the
secret.

The scopes are submit, read, admin, metrics, and node for judge nodes (node:POOL
for those of one pool). A token of a tenant sees and changes only what belongs
to that tenant. The tenant must be in [[tenants]] of the configuration.`,
		Example: `  judged token add -c /etc/judged/judged.toml --scopes submit,read platform
  judged token add -c judged.toml --tenant school school-web`,
		Args: exactly(1, "a NAME"),
	}, func(c config.Config, args []string) error {
		n.Name = args[0]
		if fields := strings.Fields(n.Name); len(fields) != 1 || fields[0] != n.Name || n.Name[0] == '#' {
			return usagef("invalid name %q; write one word that does not begin with #", n.Name)
		}
		if a.unknownTenant(c, n) {
			return usagef("unknown tenant %q; correct it, or add [[tenants]] with name = %[1]q to %s", n.Tenant, a.config)
		}
		secret, err := httpapi.AddToken(c.HTTP.TokenFile, n)
		if err != nil {
			return err
		}
		return a.printSecret(newToken{n.Name, secret, c.HTTP.TokenFile}, asJSON,
			fmt.Sprintf(reloadTokens, c.HTTP.TokenFile))
	})
	cmd.Flags().StringSliceVar(&n.Scopes, "scopes", []string{"submit", "read"}, "`LIST` of scopes")
	cmd.Flags().StringVar(&n.Tenant, "tenant", "", "`NAME` of its tenant; without a tenant it sees everything")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) tokenListCommand() *cobra.Command {
	var asJSON bool
	cmd := a.tokenCommandOf(&cobra.Command{
		Use:   "list [flags]",
		Short: "List the tokens of the file",
		Args:  exactly(0, "no arguments"),
	}, func(c config.Config, _ []string) error {
		tokens, err := httpapi.ReadTokens(c.HTTP.TokenFile)
		if err != nil {
			return err
		}
		list := tokens.List()
		if asJSON {
			return a.printJSON(map[string]any{"tokens": list})
		}
		rows := make([]text.Row, len(list))
		for i, n := range list {
			rows[i].Cells = []string{n.Name, strings.Join(n.Scopes, ","), n.Tenant, strconv.Itoa(n.Secrets)}
			if n.Secrets > 1 {
				rows[i].Notes = append(rows[i].Notes, "the old secret is valid until judged token revoke --old "+n.Name)
			}
			if a.unknownTenant(c, n) {
				rows[i].Notes = append(rows[i].Notes, "the configuration does not have this tenant")
			}
		}
		return a.printTable(text.Table{Rows: rows, Columns: []text.Column{{Head: "NAME"}, {Head: "SCOPES"},
			{Head: "TENANT", Rank: 1}, {Head: "SECRETS", Rank: 2}}})
	})
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) tokenRotateCommand() *cobra.Command {
	var asJSON bool
	cmd := a.tokenCommandOf(&cobra.Command{
		Use:   "rotate [flags] NAME",
		Short: "Add a new secret next to the old one",
		Long: `Add a second secret with the same scopes and tenant, and print it on stdout.
Both are valid: give the new one to the platform, then revoke the old one with
judged token revoke --old NAME.`,
		Args: exactly(1, "the NAME of a token"),
	}, func(c config.Config, args []string) error {
		secret, err := httpapi.RotateToken(c.HTTP.TokenFile, args[0])
		if err != nil {
			return err
		}
		return a.printSecret(newToken{args[0], secret, c.HTTP.TokenFile}, asJSON, fmt.Sprintf("the old one is valid until "+
			"judged token revoke --old %s; "+reloadTokens, args[0], c.HTTP.TokenFile))
	})
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) tokenRevokeCommand() *cobra.Command {
	var old bool
	cmd := a.tokenCommandOf(&cobra.Command{
		Use:   "revoke [flags] NAME",
		Short: "Remove a token, or its old secret",
		Long: `Remove all secrets of a name from the token file, or with --old all but the
newest. They remain valid until the daemon reads the file again, at SIGHUP. Then
open streams end, too. The jobs of the token are kept.`,
		Args: exactly(1, "the NAME of a token"),
	}, func(c config.Config, args []string) error {
		n, err := httpapi.RevokeToken(c.HTTP.TokenFile, args[0], old)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.err, "judged: removed %d secrets of %s; they stay valid until then: "+reloadTokens+"\n", n,
			args[0], c.HTTP.TokenFile)
		return err
	})
	cmd.Flags().BoolVar(&old, "old", false, "keep the newest secret, after judged token rotate")
	return cmd
}
