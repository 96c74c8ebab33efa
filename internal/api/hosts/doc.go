// Package hosts says which hosts may be compared: their fingerprints, member by member, and their times of reference
// kernels.
//
// Belongs here: how two hosts differ, and by how much their times may.
//
// Does not belong here: how a host is read (host/fingerprint), what follows from a difference (doctor, fleet/front), and
// who is in a pool (its operator).
package hosts
