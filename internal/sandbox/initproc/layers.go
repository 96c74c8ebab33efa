package initproc

import (
	"errors"
	"strings"
)

// Layers is a set of layers of the sandbox. Only the attack suite uses it: it removes one layer at a time to
// test the others. It cannot be configured.
type Layers uint8

// The layers that can be removed without breaking the measurement. Control groups still count CPU time and kill
// the run, the run still has its own mounts, and its first process is still parked before it starts.
const (
	Seccomp    Layers = 1 << iota // the system call policy
	Namespaces                    // processes, IPC, network, host name, control groups
	Root                          // without it: the host's files unchanged, and all of /proc
	User                          // without it: user 0 with all capabilities, and no no_new_privs
	Cgroup                        // without it: no memory and process limits, no cpuset
	Rlimits                       // without it: the limits of judged
)

var layerNames = [...]string{"seccomp", "namespaces", "root", "user", "cgroup", "rlimits"}

// EachLayer returns the layers, one per element.
func EachLayer() []Layers { return []Layers{Seccomp, Namespaces, Root, User, Cgroup, Rlimits} }

// Has reports whether all layers of other are in l.
func (l Layers) Has(other Layers) bool { return l&other == other }

// String returns the names, joined by commas.
func (l Layers) String() string {
	var names []string
	for i, name := range layerNames {
		if l.Has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// ParseLayers parses the output of String.
func ParseLayers(s string) (Layers, error) {
	var all Layers
	if s == "" {
		return all, nil
	}
next:
	for name := range strings.SplitSeq(s, ",") {
		for i, known := range layerNames {
			if name == known {
				all |= 1 << i
				continue next
			}
		}
		return 0, errors.New("read layers: unknown layer " + name + "; use " + strings.Join(layerNames[:], ", "))
	}
	return all, nil
}
