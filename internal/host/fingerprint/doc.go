// Package fingerprint reads the properties of a host that run times depend on.
//
// Belongs here: the members of a fingerprint, and how they are read.
//
// Does not belong here: comparing two fingerprints (api/hosts).
package fingerprint
