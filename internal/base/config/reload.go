package config

import (
	"maps"
	"slices"
)

// Reloaded returns c with those settings of next that can change while judged serves, because they are read for every
// request. Whether tokens are required cannot change: it decides who may reach the daemon at all.
func (c Config) Reloaded(next Config) Config {
	if c.HTTP.TokenFile != "" && next.HTTP.TokenFile != "" {
		c.HTTP.TokenFile = next.HTTP.TokenFile
	}
	c.Limits.Default, c.Limits.Max, c.Repeats = next.Limits.Default, next.Limits.Max, next.Repeats
	c.Queue.MaxWaiting = next.Queue.MaxWaiting
	c.Log.Level = next.Log.Level
	return c
}

// Differences lists the keys whose values differ, in the order of the file.
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
