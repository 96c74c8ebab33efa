package engine

import (
	"errors"
	"fmt"
	"strings"

	"judged/internal/base/linux"
	"judged/internal/host/hostfs"
)

// checkRights says what this process lacks to judge, before any part of it
// fails at a place that explains nothing.
func checkRights(fs hostfs.FS) error {
	if !linux.IsRoot() {
		return errors.New("open engine: judged must be root to make namespaces and control groups; start it with sudo or as a system service")
	}
	users, err := fs.Read("/proc/self/uid_map")
	if err != nil {
		return fmt.Errorf("open engine: %w", err)
	}
	// All users, each as itself, is the first user namespace or one that is as
	// good. In any other root owns nothing of the host, whatever capabilities
	// it has there.
	if strings.Join(strings.Fields(users), " ") != "0 0 4294967295" {
		return errors.New("open engine: judged is root of a user namespace and not of the host; start it outside, as a system service or in a container that is not rootless")
	}
	missing, err := linux.MissingCapabilities()
	if err != nil {
		return fmt.Errorf("open engine: %w", err)
	}
	if len(missing) > 0 {
		return fmt.Errorf("open engine: judged is root without %s; give it the capabilities of CapabilityBoundingSet in judged.service", strings.Join(missing, ", "))
	}
	return nil
}
