// Package fingerprint decides which hosts are comparable: it reads the properties of a host that run times depend on,
// compares them member by member with those of another host, and compares the times of reference kernels.
//
// Belongs here: the members of a fingerprint, how they are read, how two hosts differ, and by how much their times may
// differ.
//
// Does not belong here: the consequences of a difference (doctor, fleet/front), and who is in a pool (its operator).
package fingerprint
