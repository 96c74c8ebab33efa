package config

import (
	"slices"
	"strings"
)

// unused lists by role the prefixes of the keys that have no effect there.
var unused = map[string][]string{
	RoleAll: {"fleet.node_token_file", "fleet.ca_file"},
	RoleFront: {"fleet.node_token_file", "fleet.ca_file", "slots.cpu_list", "slots.class", "slots.pool_member",
		"slots.strict", "sandbox.root", "sandbox.uid_", "limits.jury.", "languages.cache_size", "canary.", "tune."},
	RoleJudge: {"limits.default.", "limits.max.", "repeats.", "queue.", "retention.max_jobs", "callbacks.", "audit.",
		"pools[", "tenants["},
}

// Unused returns the keys that differ from the defaults and have no effect in the role of the daemon. They are no
// errors: daemons of several roles may share a file.
func (c Config) Unused() []string {
	var all []string
	for _, key := range Differences(Default(), c) {
		if slices.ContainsFunc(unused[c.Fleet.Role], func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			name, _, _ := strings.Cut(key, "[")
			all = append(all, name)
		}
	}
	return slices.Compact(all)
}
