package web

import (
	"fmt"
	"strings"

	"judged/internal/api"
	"judged/internal/base/text"
)

// safety says whether verdicts are safe at this moment, and why not.
type safety struct {
	Level   string // good, odd, bad
	Line    string
	Reasons []string
}

// known holds the inputs of the safety decision.
type known struct {
	Ready    error
	Operator bool // the reader may see the rest
	Doctor   *api.DoctorReport
	Slots    []slotView
	Nodes    []api.Node
}

// judgeSafety returns the worst of all that is known. What is not known is never safe.
func judgeSafety(k known) safety {
	var bad, odd []string
	if k.Ready != nil {
		bad = append(bad, "No job can be judged: "+k.Ready.Error()+".")
	}
	if !k.Operator {
		odd = append(odd, "The state of the hosts is shown to operators only; the report of each job has that of its host.")
	}
	judging := 0 // slots or nodes
	if k.Doctor != nil {
		checks := doctorReasons(*k.Doctor)
		bad, odd = append(bad, checks.bad...), append(odd, checks.odd...)
	}
	for _, s := range k.Slots {
		switch s.State {
		case "idle", "busy":
			judging++
		case "quarantined":
			odd = append(odd, fmt.Sprintf("Slot %s is quarantined: %s.", s.CPUs, s.Reason))
		}
	}
	for _, n := range k.Nodes {
		if n.Judging() {
			judging++
		}
		if why := nodeReason(n); why != "" {
			odd = append(odd, why)
		}
		if n.Deviation != nil && n.Deviation.Deviates && n.Judging() {
			bad = append(bad, fmt.Sprintf("Node %s judges, and its times deviate from its pool by %.1f %%.", n.Name,
				100*n.Deviation.Ratio))
		}
	}
	if k.Operator && k.Doctor == nil && len(k.Nodes) == 0 {
		bad = append(bad, "No host is known that judges.")
	} else if k.Operator && judging == 0 && k.Ready == nil {
		bad = append(bad, "No slot judges.")
	}
	switch {
	case k.Ready != nil:
		return safety{"bad", "Nothing is judged at this moment.", append(bad, odd...)}
	case len(bad) > 0:
		return safety{"bad", "Verdicts near a time limit are not safe at this moment.", append(bad, odd...)}
	case len(odd) > 0:
		return safety{"odd", "Verdicts are given, with reservations.", odd}
	}
	return safety{Level: "good", Line: "Verdicts are safe at this moment.", Reasons: safeBecause(k, judging)}
}

func safeBecause(k known, judging int) []string {
	what := "slot"
	if len(k.Slots) == 0 {
		what = "node"
	}
	reasons := []string{fmt.Sprintf("In use: %s. None is quarantined or deviates.", text.Count(judging, what))}
	if k.Doctor != nil {
		reasons = append(reasons, fmt.Sprintf("The host passes all checks of doctor that apply: %d.", passed(*k.Doctor)))
	}
	return reasons
}

func passed(r api.DoctorReport) (n int) {
	for _, c := range r.Checks {
		if c.Status == api.DoctorPass {
			n++
		}
	}
	return n
}

// nodeReason returns why a node is not fit to judge, or "".
func nodeReason(n api.Node) string {
	switch {
	case n.Drained:
		return ""
	case !n.Up:
		return fmt.Sprintf("Node %s is down.", n.Name)
	case !n.Ready:
		return fmt.Sprintf("Node %s is not ready: %s.", n.Name, strings.TrimSuffix(n.Reason, "."))
	case len(n.Differs) > 0 && !n.Admitted:
		return fmt.Sprintf("Node %s differs from its pool and gets no jobs.", n.Name)
	}
	return ""
}

type reasonLists struct{ bad, odd []string }

// doctorReasons groups the checks that do not pass by the size of their effect on times.
func doctorReasons(r api.DoctorReport) (lists reasonLists) {
	if len(r.Checks) == 0 {
		return reasonLists{bad: []string{"Doctor has not examined the host."}}
	}
	ids := func(status api.DoctorStatus, severities ...api.Severity) (all []string) {
		for _, c := range r.Checks {
			for _, s := range severities {
				if c.Status == status && c.Severity == s {
					all = append(all, c.ID)
				}
			}
		}
		return all
	}
	add := func(list *[]string, format string, ids []string) {
		if len(ids) > 0 {
			*list = append(*list, fmt.Sprintf(format, text.Count(len(ids), "check"), strings.Join(ids, ", ")))
		}
	}
	add(&lists.bad, "The host fails %s that can change a verdict: %s.", ids(api.DoctorFail, api.SeverityS1))
	add(&lists.odd, "The host fails %s that cost up to 5 %% of a time: %s.", ids(api.DoctorFail, api.SeverityS2))
	add(&lists.odd, "The host fails %s with a smaller effect: %s.", ids(api.DoctorFail, api.SeverityS3, api.SeverityInfo))
	add(&lists.odd, "The state of %s is unknown: %s.", ids(api.DoctorUnknown, api.SeverityS1, api.SeverityS2))
	add(&lists.odd, "%s warn: %s.", ids(api.DoctorWarn, api.SeverityS1, api.SeverityS2))
	return lists
}
