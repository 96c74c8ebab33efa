package engine

import (
	"errors"
	"fmt"
	"strings"

	"judged/internal/base/linux"
	"judged/internal/host/hostfs"
)

// checkRights says which privileges this process lacks, before some step fails with an error that does not explain it.
func checkRights(fs hostfs.FS) error {
	if !linux.IsRoot() {
		return errors.New("open engine: judged must be root to make namespaces and control groups; start it with sudo " +
			"or as a system service")
	}
	users, err := fs.Read("/proc/self/uid_map")
	if err != nil {
		return fmt.Errorf("open engine: %w", err)
	}
	// The identity map of all users is that of the initial user namespace. Root of any other namespace has no
	// privileges on the host, regardless of its capabilities.
	if strings.Join(strings.Fields(users), " ") != "0 0 4294967295" {
		return errors.New("open engine: judged is root in a user namespace, not on the host; start it as a system " +
			"service or in a container that is not rootless")
	}
	missing, err := linux.MissingCapabilities()
	if err != nil {
		return fmt.Errorf("open engine: %w", err)
	}
	if len(missing) > 0 {
		return fmt.Errorf("open engine: judged is root without %s; give it the capabilities of CapabilityBoundingSet in "+
			"judged.service", strings.Join(missing, ", "))
	}
	return nil
}
