package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"judged/internal/api"
	"judged/internal/host/doctor"
	"judged/internal/service/render"
)

// explained is everything that has a given name: a check, a cause and a list of words may share one.
type explained struct {
	*doctor.Explanation
	Cause *api.CauseEntry `json:"cause,omitempty"`
	Words *api.WordList   `json:"words,omitempty"`
}

// explain looks up a check, a cause, or the list that contains a word.
func explain(name string) (explained, bool) {
	var e explained
	if check, ok := doctor.Explain(name); ok {
		e.Explanation = &check
	}
	if cause, ok := api.Explain(api.Cause(name)); ok {
		e.Cause = &cause
	}
	for _, l := range api.WordLists() {
		if l.Member == name || slices.ContainsFunc(l.Words, func(m api.Meaning) bool { return m.Word == name }) {
			e.Words = &l
		}
	}
	return e, e != explained{}
}

func (a *app) explain(name string, asJSON bool) error {
	e, ok := explain(name)
	if !ok {
		return usagef("explain %q: there is no such check or cause; judged doctor lists the checks, judged help causes "+
			"the causes", name)
	}
	if asJSON {
		return a.printJSON(e)
	}
	_, err := io.WriteString(a.out, e.String())
	return err
}

// String formats the parts, separated by blank lines.
func (e explained) String() string {
	var parts []string
	if e.Explanation != nil {
		parts = append(parts, explanation(*e.Explanation))
	}
	if e.Cause != nil {
		parts = append(parts, render.Cause(*e.Cause))
	}
	if e.Words != nil {
		parts = append(parts, render.WordList(*e.Words))
	}
	return strings.Join(parts, "\n")
}

// causesTopic is the help topic that explains the words about time in a report.
func (a *app) causesTopic() *cobra.Command {
	topic := &cobra.Command{Use: "causes", Short: "Causes of disturbed runs, and other words of reports"}
	topic.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if left := cmd.Flags().Args(); len(left) > 0 {
			a.wrong = unknownCommand(cmd, left)
			return
		}
		// As in the help of commands, a closed pipe is not an error.
		_, _ = io.WriteString(a.out, render.Words())
	})
	return topic
}
