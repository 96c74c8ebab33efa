package main

import (
	"fmt"
	"os"

	"judged/internal/host/fingerprint"
)

// poolMember reads the fingerprint of another host of the pool, as judged doctor
// --fingerprint printed it there. Without a file it is nil.
func poolMember(file string) (*fingerprint.Fingerprint, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef("read the fingerprint of a host of the pool: %w; set slots.pool_member or --pool-member to a "+
			"file that exists", err)
	}
	f, err := fingerprint.Parse(text)
	if err != nil {
		return nil, &usageError{fmt.Errorf("read %q: %w", file, err)}
	}
	return &f, nil
}
