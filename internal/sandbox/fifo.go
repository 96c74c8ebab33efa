package sandbox

import (
	"fmt"
	"os"
	"strings"

	"judged/internal/base/linux"
)

// makeFIFOs makes the named pipes of a run. Nobody else can open them, and the run cannot remove them.
func (s *Sandbox) makeFIFOs(names []string) error {
	for _, name := range names {
		if err := linux.MakeFIFO(s.box, name, 0o600, s.uid); err != nil {
			return err
		}
	}
	return nil
}

// OpenFIFO opens one end of a named pipe of the loaded sandbox without waiting for the other end.
func (s *Sandbox) OpenFIFO(name string, flags int) (*os.File, error) {
	both, err := linux.Open(s.fifo(name), os.O_RDWR)
	if err != nil {
		return nil, err
	}
	defer both.Close()
	return linux.Open(s.fifo(name), flags)
}

// WatchFIFOs reports which named pipes of the loaded sandbox its program opens.
func (s *Sandbox) WatchFIFOs(names []string) (*linux.Opens, error) {
	var paths []string
	for _, name := range names {
		paths = append(paths, s.fifo(name))
	}
	return linux.NewOpens(paths)
}

func (s *Sandbox) fifo(name string) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", s.box.Fd(), name)
}

// isPipeWait reports whether a function of the kernel, as in /proc/PID/wchan, waits for the other end of a pipe or for
// descriptors. A file "0" is that of a kernel that does not show it.
func isPipeWait(wchan string) bool {
	for _, part := range []string{"pipe", "poll", "select", "wait_for_partner"} {
		if strings.Contains(wchan, part) {
			return true
		}
	}
	return wchan == "0"
}
