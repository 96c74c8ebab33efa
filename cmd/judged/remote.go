package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"judged/internal/client"
	"judged/internal/jobs/intake"
)

// remote holds the flags of every command that calls a daemon.
type remote struct{ url, token string }

// addFlags declares the flags. Their defaults come from the environment, so that scripts need no flags and a token never
// appears in a process list.
func (r *remote) addFlags(cmd *cobra.Command) {
	url, set := os.LookupEnv("JUDGED_URL")
	if !set {
		url = defaultURL
	}
	cmd.Flags().StringVar(&r.url, "url", url,
		"`URL` of the daemon; JUDGED_URL sets it too")
	cmd.Flags().StringVar(&r.token, "token-from", "", tokenFromUsage)
}

const defaultURL = "http://127.0.0.1:8080"

const tokenFromUsage = "`FILE` with the bearer token; JUDGED_TOKEN holds the token itself"

func (r *remote) client() (client.Client, error) {
	token := os.Getenv("JUDGED_TOKEN")
	if r.token == "" && strings.ContainsFunc(token, unicode.IsControl) {
		return client.Client{}, usagef("read JUDGED_TOKEN: not a token; set it to the token, and nothing else")
	}
	if r.token != "" {
		b, err := os.ReadFile(r.token)
		if err != nil {
			return client.Client{}, usagef("read --token-from: %w; give a file that exists", err)
		}
		token = strings.TrimSpace(string(b))
		if token == "" || strings.ContainsFunc(token, unicode.IsControl) {
			return client.Client{}, usagef("read --token-from: %q does not hold a token; write the token into it, and "+
				"nothing else", r.token)
		}
	}
	if r.url == "" { // an empty flag is an error before this
		return client.Client{}, usagef("read JUDGED_URL: empty; set it to the URL of the daemon, or unset it for %s",
			defaultURL)
	}
	u, err := url.Parse(r.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return client.Client{}, usagef("read --url %q: want a URL such as http://127.0.0.1:8080", r.url)
	}
	return client.Client{Base: strings.TrimSuffix(r.url, "/"), Token: token}, nil
}

// refused turns a client error of the daemon into a usage error. Findings about a job then name flags instead of members.
func refused(err error) error {
	var p *client.Problem
	switch {
	case !errors.As(err, &p) || p.Status < 400 || p.Status >= 500 || p.Status == http.StatusTooManyRequests:
		return err
	case len(p.Errors) > 0:
		return inFlags(fmt.Errorf("the daemon refuses the job: %w", intake.Errors(p.Errors)))
	}
	return &usageError{err}
}

// oneID requires the ID of a job. An empty ID would request the list of jobs.
func oneID(cmd *cobra.Command, args []string) error {
	if err := exactly(1, "the ID of a job")(cmd, args); err != nil {
		return err
	}
	if args[0] == "" {
		return usagef("the ID of the job is empty; see %s --help", cmd.CommandPath())
	}
	return nil
}

// remoteCommand completes a command that sends one request and prints the response, with --json as a document.
func remoteCommand[T any](show func(answer T, asJSON bool) error, cmd *cobra.Command,
	ask func(context.Context, client.Client, []string) (T, error)) *cobra.Command {
	var r remote
	var asJSON bool
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cl, err := r.client()
		if err != nil {
			return err
		}
		answer, err := ask(cmd.Context(), cl, args)
		if err != nil {
			return refused(err)
		}
		return show(answer, asJSON)
	}
	r.addFlags(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// wrap adds what to err. It returns nil if err is nil.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
