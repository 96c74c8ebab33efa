//go:build !man

package main

import "github.com/spf13/cobra"

func (a *app) extraCommands(*cobra.Command) []*cobra.Command { return nil }
