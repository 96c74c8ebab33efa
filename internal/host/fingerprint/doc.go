// Package fingerprint reads what the times of a host depend on.
//
// Belongs here: which members a fingerprint has, and how they are read.
//
// Does not belong here: how two fingerprints differ (api/hosts).
package fingerprint
