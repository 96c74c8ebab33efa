// Package hosts decides which hosts are comparable: by their fingerprints, member by member, and by their times of
// reference kernels.
//
// It defines how two hosts differ, and by how much their times may differ.
//
// Not here: how a host is read (host/fingerprint), the consequences of a difference (doctor, fleet/front), and who is
// in a pool (its operator).
package hosts
