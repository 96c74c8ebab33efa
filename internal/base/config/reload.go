package config

import (
	"maps"
	"slices"
)

// Reloaded returns c with the settings from next that can change without a restart: those that are read for
// every request, and the files of tokens and certificates. It can add access restrictions but not remove any.
func (c Config) Reloaded(next Config) Config {
	if next.HTTP.TokenFile != "" {
		c.HTTP.TokenFile = next.HTTP.TokenFile
	}
	if c.HTTP.CertFile != "" && next.HTTP.CertFile != "" {
		c.HTTP.CertFile, c.HTTP.KeyFile = next.HTTP.CertFile, next.HTTP.KeyFile
	}
	if c.Fleet.Role == RoleJudge {
		c.Fleet.TokenFile, c.Fleet.CAFile = next.Fleet.TokenFile, next.Fleet.CAFile
	}
	if c.Judgehost.URL != "" && next.Judgehost.CredentialsFile != "" {
		c.Judgehost.CredentialsFile = next.Judgehost.CredentialsFile
	}
	c.Limits.Default, c.Limits.Max, c.Repeats = next.Limits.Default, next.Limits.Max, next.Repeats
	c.Callbacks = next.Callbacks
	c.Queue.MaxWaiting = next.Queue.MaxWaiting
	c.Retention = next.Retention
	c.Tenants = next.Tenants
	c.Log.Level = next.Log.Level
	return c
}

// Unprotected returns the keys of next that restrict access more strictly than c but take effect only after a
// restart.
func (c Config) Unprotected(next Config) []string {
	var keys []string
	if c.HTTP.CertFile == "" && next.HTTP.CertFile != "" {
		keys = append(keys, "http.cert_file")
	}
	if !c.HTTP.Loopback() && next.HTTP.Loopback() {
		keys = append(keys, "http.listen")
	}
	if !c.Judge0.Loopback() && next.Judge0.Loopback() {
		keys = append(keys, "judge0.listen")
	}
	return keys
}

// Differences returns the keys whose values differ, in the order of the file.
func Differences(a, b Config) []string {
	var differ []string
	other := map[string]string{}
	for _, k := range keys(&b) {
		other[k.path] = k.text()
	}
	for _, k := range keys(&a) {
		if text, found := other[k.path]; !found || text != k.text() {
			differ = append(differ, k.path)
		}
		delete(other, k.path)
	}
	return append(differ, slices.Sorted(maps.Keys(other))...)
}
