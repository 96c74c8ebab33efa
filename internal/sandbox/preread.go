package sandbox

import (
	"strings"

	"judged/internal/runtimes"
	"judged/internal/stage"
)

// newReader reads for programs of a root. A minimal one shows them nothing.
func newReader(root Root) *runtimes.Reader {
	if root != RootHost {
		return runtimes.NewReader(nil, nil)
	}
	return runtimes.NewReader(hostTrees[:], strings.Split(stage.Path, ":"))
}

// Preread reads what of the host the program loads when it starts, unless that
// was done a moment ago, so that no run waits for the disk or is charged for
// files that all runs share. On a host with several NUMA nodes those stay on
// the node that had them first.
func (l *Launcher) Preread(args []string, files []File) {
	for _, f := range files {
		if args[0] == "./"+f.Name {
			l.reader.Contestant(f.Path)
			return
		}
	}
	l.reader.Program(args[0])
}
