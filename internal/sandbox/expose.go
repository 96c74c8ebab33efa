package sandbox

import "os"

// exposeHost stands in for furnishTemplate where the attack suite leaves the
// layer out: the host's files as they are and writable, everything but its /proc.
func exposeHost(_ Root, root string) error {
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := "/" + e.Name()
		if _, err := os.Lstat(root + path); err == nil || path == root {
			continue // the box, /proc, and what root itself covers
		}
		if err := showPath(root, path, 0); err != nil {
			return err
		}
	}
	return nil
}
