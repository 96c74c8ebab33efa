package tune

// State is the outcome for one value.
type State string

// The states.
const (
	Change   State = "change"   // plan: apply would set it
	Set      State = "set"      // apply: it was set; status: it is in force
	Stays    State = "stays"    // it cannot be changed; the reason says why
	Failed   State = "failed"   // the kernel refused it, or changed it
	Old      State = "old"      // status: it has its old value
	Drifted  State = "drifted"  // status: somebody changed it since
	Restored State = "restored" // restore: it has its old value again
	Left     State = "left"     // restore: somebody changed it since, and that was not touched
	// Inherited is, at restore, a thread that has CPUs of tune from an ancestor; it was not touched.
	Inherited State = "inherited"
	Gone      State = "gone" // the thread or device has gone
)

// schema is the version of the JSON of a Report.
const schema = 1

// Report is the result of plan, apply, status or restore.
type Report struct {
	Schema       int       `json:"schema"`
	Action       string    `json:"action"`       // plan, apply, status, restore
	Done         bool      `json:"done"`         // nothing failed, drifted or was left
	CPUs         string    `json:"cpus"`         // the reserved ones
	Housekeeping string    `json:"housekeeping"` // the other online ones; "" in status and restore
	Note         string    `json:"note"`         // about the whole; often ""
	Settings     []Setting `json:"settings"`     // never null
}

// Setting is one setting on this host.
type Setting struct {
	ID     string  `json:"id"` // of the check of doctor
	Title  string  `json:"title"`
	Why    string  `json:"why"`
	Risk   string  `json:"risk"`
	Skip   string  `json:"skip"`   // why there is nothing to set; "" where there is
	Right  int     `json:"right"`  // values that were already as wanted
	Values []Value `json:"values"` // never null
}

// Value is one file or thread.
type Value struct {
	Path   string `json:"path"`
	Name   string `json:"name"` // of a thread
	State  State  `json:"state"`
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

func (v *view) report(action string) Report {
	return Report{Schema: schema, Action: action, Done: true, CPUs: v.Reserved.String(),
		Housekeeping: v.Housekeeping.String(), Settings: []Setting{}}
}

func (r *Report) add(s Setting) {
	r.Settings = append(r.Settings, s)
	for _, v := range s.Values {
		switch v.State {
		case Failed, Old, Drifted, Left:
			r.Done = false
		}
	}
}

func (k knob) describe(p proposal) Setting {
	return Setting{ID: k.ID, Title: k.Title, Why: k.Effect, Risk: k.Risk, Skip: p.skip, Right: p.right,
		Values: []Value{}}
}

func (c change) value(s State, reason string) Value {
	return Value{Path: c.Path, Name: c.name, State: s, From: c.from, To: c.wanted(), Reason: reason}
}

// InForce reports for each setting of a status whether all its values are in force. Threads and
// devices that are gone do not count.
func (r Report) InForce() map[string]bool {
	force := map[string]bool{}
	for _, s := range r.Settings {
		force[s.ID] = true
		for _, v := range s.Values {
			if v.State == Old || v.State == Drifted || v.State == Failed {
				force[s.ID] = false
			}
		}
	}
	return force
}
