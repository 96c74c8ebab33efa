package main

import (
	"os"

	"judged/internal/api"
)

// poolMember reads the fingerprint of another host of the pool, which judged doctor --fingerprint printed there. It
// returns nil if file is empty.
func poolMember(file string) (*api.Fingerprint, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef("slots.pool_member: %w; set slots.pool_member or --pool-member to a file that exists", err)
	}
	f, err := api.ParseFingerprint(text)
	if err != nil {
		return nil, usagef("slots.pool_member: read %q: %w; judged doctor --fingerprint on a host of the pool prints one",
			file, err)
	}
	return &f, nil
}
