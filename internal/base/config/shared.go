package config

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// shared begin the keys that all fronts of one database need alike: what they accept, keep, and
// forget is seen by the same platforms and judges.
var shared = []string{"limits.", "repeats.", "queue.", "retention.", "blobs.", "audit.", "pools[", "slots.pool",
	"http.max_body", "http.max_blob"}

// Shared returns a short digest of each setting that all fronts of one database need alike, by its
// key. A digest, because an address may hold a key by mistake.
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
