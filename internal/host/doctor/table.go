package doctor

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
	"judged/internal/host/settings"
)

// byUrgency returns the states in the order of urgency.
func byUrgency() []api.DoctorStatus {
	return []api.DoctorStatus{api.DoctorFail, api.DoctorWarn, api.DoctorUnknown, api.DoctorSkip, api.DoctorPass}
}

// WriteTable writes the report for people: the verdict, then the checks by severity with their fixes.
func WriteTable(w io.Writer, r api.DoctorReport) error {
	_, err := io.WriteString(w, format(text.ScreenOf(w), r))
	return err
}

func format(s text.Screen, r api.DoctorReport) string {
	counts := "counts of the kernel cover the time since boot"
	if r.WindowNS > 0 {
		counts = fmt.Sprintf("counts of the kernel cover %s", units.Duration(r.WindowNS))
	}
	var b strings.Builder
	for _, line := range []string{verdict(r),
		fmt.Sprintf("%s · %s · %s · Linux %s", r.Host.Name, r.Host.Class, r.Host.CPUModel, r.Host.Kernel),
		fmt.Sprintf("reserved CPUs %s of %d · isolation %s · turbo %s", cmp.Or(r.CPUs, "none"), r.Host.CPUs,
			r.Host.Isolation, r.Host.Turbo), counts} {
		for _, part := range s.Wrap(line, 0, 0) {
			fmt.Fprintln(&b, part)
		}
	}
	t := text.Table{Columns: []text.Column{{}, {}, {Prose: true}}, Hang: 8}
	for _, s := range api.Severities() {
		t.Rows = append(t.Rows, rows(heading(s), checksOf(r, func(c api.DoctorCheck) bool {
			return c.Severity == s && !isProbe(c)
		}))...)
	}
	t.Rows = append(t.Rows, rows(probeHeading, checksOf(r, isProbe))...)
	return b.String() + t.Format(s) + nextSteps(r)
}

// nextSteps returns the commands that fix together what can be fixed without reading every check.
func nextSteps(r api.DoctorReport) string {
	tuned, boot := 0, false
	for _, c := range r.Checks {
		if c.Status != api.DoctorFail && c.Status != api.DoctorWarn {
			continue
		}
		if s, ok := settings.Get(c.ID); ok && s.Tuned() != "" {
			tuned++
		}
		boot = boot || c.ID == "cmdline-plan"
	}
	var b strings.Builder
	if tuned > 0 {
		fmt.Fprintf(&b, "    now     judged tune apply          # %d of these checks, until the next boot\n", tuned)
	}
	if boot {
		b.WriteString("    boot    judged tune plan --boot    # the kernel command line\n")
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nnext\n" + b.String()
}

// WriteChanges writes a line for each check whose status differs between two reports of a host, with the time of the later
// one. Findings alone differ all the time: they have counts.
func WriteChanges(w io.Writer, before, after api.DoctorReport, at time.Time) error {
	was := map[string]api.DoctorCheck{}
	for _, c := range before.Checks {
		was[c.ID] = c
	}
	for _, c := range after.Checks {
		if was[c.ID].Status == c.Status {
			continue
		}
		line := fmt.Sprintf("%s  %-7s  %s: %s", at.Format(time.TimeOnly), c.Status, c.ID, cmp.Or(c.Reason, c.Found))
		if _, err := fmt.Fprintln(w, text.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}

// heading is the heading of the checks of a severity.
func heading(s api.Severity) string {
	if s == api.SeverityInfo {
		return s.Effect()
	}
	return fmt.Sprintf("%s  %s", s, s.Effect())
}

func verdict(r api.DoctorReport) string {
	if r.Ready {
		return "ready"
	}
	return fmt.Sprintf("not ready: %d to fix, here is how", blocking(r))
}

// checksOf returns the checks of a group, the most severe first.
func checksOf(r api.DoctorReport, group func(api.DoctorCheck) bool) []api.DoctorCheck {
	var found []api.DoctorCheck
	for _, status := range byUrgency() {
		for _, c := range r.Checks {
			if group(c) && c.Status == status {
				found = append(found, c)
			}
		}
	}
	return found
}

// rows returns the rows of a group of checks. Checks that were skipped for the same reason share a row, such as those that
// only matter on bare metal.
func rows(title string, checks []api.DoctorCheck) []text.Row {
	skipped := map[string][]string{} // IDs by reason
	for _, c := range checks {
		if c.Status == api.DoctorSkip {
			skipped[c.Reason] = append(skipped[c.Reason], c.ID)
		}
	}
	var all []text.Row
	for _, c := range checks {
		row := text.Row{Title: title, Cells: []string{string(c.Status), c.ID, c.Found}, Color: color(c.Status)}
		switch c.Status {
		case api.DoctorSkip, api.DoctorUnknown:
			row.Cells[2] = c.Reason
			if ids := skipped[c.Reason]; c.Status == api.DoctorSkip && len(ids) > 1 {
				if c.ID != ids[0] {
					continue
				}
				row.Cells[1], row.Cells[2] = fmt.Sprintf("%d checks", len(ids)), c.Reason+": "+strings.Join(ids, ", ")
			}
		case api.DoctorFail, api.DoctorWarn:
			row.Notes = []string{"why     " + c.Reason, "wanted  " + c.Wanted, "costs   " + c.Effect}
			for _, command := range c.Fix.Runtime {
				row.Notes = append(row.Notes, "now     "+command)
			}
			if c.Fix.Boot != "" {
				row.Notes = append(row.Notes, "boot    "+c.Fix.Boot)
			}
		}
		all, title = append(all, row), ""
	}
	return all
}

// color returns the SGR parameters of a status.
func color(s api.DoctorStatus) string {
	return map[api.DoctorStatus]string{api.DoctorFail: "1;31", api.DoctorWarn: "33", api.DoctorPass: "32",
		api.DoctorSkip: "2", api.DoctorUnknown: "36"}[s]
}

func isProbe(c api.DoctorCheck) bool { return strings.HasPrefix(c.ID, "probe-") }

const probeHeading = "measured by judged doctor --probe"
