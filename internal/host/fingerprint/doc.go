// Package fingerprint says which hosts may be compared: what their times depend on, member by member,
// and 16 digits over it.
//
// Belongs here: which members there are, how they are read, how two hosts differ.
//
// Does not belong here: what follows from a difference (doctor), and who is in a pool (its operator,
// who hands the fingerprint of one host to the others).
package fingerprint
