package front

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"judged/internal/jobs"
)

// auditState is the state of a pool.
type auditState struct {
	Pool   string    `json:"pool"`
	Since  time.Time `json:"since"` // time of the first audit, see AuditorOptions.Shadow
	Result detection `json:"result"`
	// Changes are the times at which nodes became slower or faster.
	Changes    map[string]timeChange `json:"changes"`
	Confirming *suspicion            `json:"confirming,omitempty"`
	Rejected   *suspicion            `json:"rejected,omitempty"` // last one that was not confirmed
	Retired    []retirement          `json:"retired"`            // newest last
	Alarm      string                `json:"alarm,omitempty"`    // message for an operator
	// Restored is when a drained node got jobs again. Audits before that no longer count for it.
	Restored map[string]time.Time `json:"restored"`
}

// suspicion is a node that deviates and is being compared with others.
type suspicion struct {
	Node    string    `json:"node"`
	Others  []string  `json:"others"`
	Started time.Time `json:"started_at"`
}

// retirement is a node that was taken out of use.
type retirement struct {
	Node   string    `json:"node"`
	At     time.Time `json:"at"`
	Effect float64   `json:"effect_log"`
	// Since is when the deviation started, as far as is known.
	Since time.Time `json:"since"`
	// Complete means that its rejudging set includes the jobs that it finished after it was drained.
	Complete bool `json:"complete"`
}

const (
	// retireEvery is the minimum time between two automatic retirements.
	retireEvery = 24 * time.Hour
	// confirmFor limits the duration of a confirmation.
	confirmFor = 6 * time.Hour
	// keptRetirements limits the size of the state.
	keptRetirements = 100
)

// pairs converts audits to pairs, oldest first. It skips nodes that are out of use, and audits from before a node was
// repaired.
func (s *auditState) pairs(audits []jobs.Audit, drained func(node string) bool) []pair {
	var all []pair
	for _, a := range audits {
		stale := func(node string) bool { return drained(node) || a.Finished.Before(s.Restored[node]) }
		if !stale(a.Origin) && !stale(a.Node) {
			all = append(all, pair{At: a.Finished, A: a.Origin, B: a.Node, LogRatio: a.LogRatio})
		}
	}
	return all
}

// detect runs the detector. It returns the node to compare with others, or "".
func (s *auditState) detect(now time.Time, pairs []pair, shadow time.Duration) (suspect string) {
	s.Result = detectHosts(now, pairs, s.Result)
	s.Changes = map[string]timeChange{}
	for _, h := range s.Result.Fit.Hosts {
		if c, found := findChange(h.Name, pairs, s.Result.Fit); found {
			s.Changes[h.Name] = c
		}
	}
	found := s.Result.Suspects
	s.Alarm = ""
	switch {
	case len(found) == 0 || s.Confirming != nil:
	case len(found) > 1:
		s.Alarm = fmt.Sprintf("several nodes deviate at once (%s): the pool has changed; none is drained",
			strings.Join(found, ", "))
	case now.Sub(s.Since) < shadow:
		s.Alarm = fmt.Sprintf("node %s deviates; nothing is drained before %s (audit.shadow)", found[0],
			s.Since.Add(shadow).Format(time.RFC3339))
	case len(s.Retired) > 0 && now.Sub(s.Retired[len(s.Retired)-1].At) < retireEvery:
		s.Alarm = fmt.Sprintf("node %s deviates; another node was drained within a day", found[0])
	case s.Rejected != nil && s.Rejected.Node == found[0] && now.Sub(s.Rejected.Started) < retireEvery:
		s.Alarm = fmt.Sprintf("node %s deviates in its audits, but not in direct comparison", found[0])
	default:
		return found[0]
	}
	return ""
}

// references returns the nodes that a suspect is compared with.
func references(suspect string, up, deviating []string) []string {
	var all []string
	for _, n := range up {
		if n != suspect && !slices.Contains(deviating, n) && len(all) < confirmHosts {
			all = append(all, n)
		}
	}
	return all
}

// confirmed decides about the suspect from the audits of the confirmation. done is false while more audits are
// expected.
func (s *auditState) confirmed(now time.Time, audits []jobs.Audit, open int) (drain, done bool) {
	c := s.Confirming
	if open > 0 && now.Sub(c.Started) < confirmFor {
		return false, false
	}
	effect, drain := confirmHost(c.Node, interleaved(c.Node, audits), s.Result.Threshold)
	s.Confirming = nil
	if !drain {
		s.Rejected = c
		return false, true
	}
	r := retirement{Node: c.Node, At: now, Effect: effect, Since: s.Since}
	if change, found := s.Changes[c.Node]; found {
		r.Since = change.Earliest
	}
	s.Retired = append(s.Retired, r)
	s.Retired = s.Retired[max(0, len(s.Retired)-keptRetirements):]
	return true, true
}

// interleaved returns the pairs of a suspect with each other node that has judged the same job.
func interleaved(suspect string, audits []jobs.Audit) []pair {
	own := map[string]float64{}
	for _, a := range audits {
		if a.Node == suspect {
			own[a.Original] = a.LogRatio
		}
	}
	var all []pair
	for _, a := range audits {
		if y, found := own[a.Original]; found && a.Node != suspect {
			all = append(all, pair{At: a.Finished, A: a.Node, B: suspect, LogRatio: y - a.LogRatio})
		}
	}
	return all
}

// normal95 is half the width of a 95 % interval in standard errors.
const normal95 = 1.96

// ratio converts a logarithm of a ratio of times to the relative difference.
func ratio(log float64) float64 { return math.Expm1(log) }
