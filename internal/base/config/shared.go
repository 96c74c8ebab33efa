package config

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// shared lists the prefixes of the keys that must be equal on all fronts of one database.
var shared = []string{"limits.", "repeats.", "queue.", "retention.", "callbacks.allow", "blobs.", "audit.", "pools[",
	"tenants[", "slots.pool", "slots.width", "sandbox.work_", "http.max_body", "http.max_blob"}

// Shared returns, by key, a short digest of each setting that must be equal on all fronts of one database. It
// returns digests because an address may contain a secret by mistake.
func (c Config) Shared() map[string]string {
	all := map[string]string{}
	for _, k := range keys(&c) {
		for _, prefix := range shared {
			if strings.HasPrefix(k.path, prefix) {
				sum := sha256.Sum256([]byte(k.text()))
				all[k.path] = hex.EncodeToString(sum[:8])
			}
		}
	}
	return all
}
