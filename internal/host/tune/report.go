package tune

// State is the state of one value.
type State string

// The states.
const (
	Change   State = "change"   // plan: apply would set it
	Set      State = "set"      // apply: it was set; status: it still is
	Stays    State = "stays"    // it cannot be changed; the reason says why
	Failed   State = "failed"   // the kernel rejected it, or stored another value
	Old      State = "old"      // status: it has its old value
	Drifted  State = "drifted"  // status: somebody has changed it since
	Restored State = "restored" // restore: it has its old value again
	Left     State = "left"     // restore: somebody has changed it since, so it was not restored
	// Inherited is reported by restore for a thread that inherited CPUs set by tune and was not changed.
	Inherited State = "inherited"
	Gone      State = "gone" // the thread or device no longer exists
)

// schema is the version of a Report's JSON.
const schema = 1

// Report is the result of plan, apply, status or restore.
type Report struct {
	Schema       int       `json:"schema"`
	Action       string    `json:"action"`       // plan, apply, status or restore
	Done         bool      `json:"done"`         // nothing failed, drifted or was left
	CPUs         string    `json:"cpus"`         // the reserved CPUs
	Housekeeping string    `json:"housekeeping"` // the other online CPUs; "" in status and restore
	Note         string    `json:"note"`         // about the whole report; often ""
	Settings     []Setting `json:"settings"`     // never null
}

// Setting is one setting on this host.
type Setting struct {
	ID     string  `json:"id"` // the same as that of the doctor's check
	Title  string  `json:"title"`
	Why    string  `json:"why"`
	Risk   string  `json:"risk"`
	Skip   string  `json:"skip"`   // why the setting does not apply; "" if it does
	Right  int     `json:"right"`  // number of values that needed no change
	Values []Value `json:"values"` // never null
}

// Value is one file or thread.
type Value struct {
	Path   string `json:"path"`
	Name   string `json:"name"` // for a thread
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

// InForce returns, for each setting of a status, whether all its values are in force. Threads and devices that
// no longer exist are ignored.
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
