// Package domserver is a DOMjudge server for tests of judgehosts. It implements the part of a server that judgehosts
// use, with the state of judge tasks and judgings: tasks are assigned in batches that several hosts share, a judging is
// decided as soon as all earlier results are known (lazy evaluation), registering returns the unfinished tasks of a
// host, and internal errors disable objects.
//
// It checks each received field more strictly than a real server, and collects violations in Complaints. Tests can
// inject faults into any response.
package domserver
