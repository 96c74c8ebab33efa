// Package domserver is a DOMjudge server for tests of judgehosts, as far as a judgehost can see one. It has the state
// of judge tasks and judgings: tasks are handed out in batches that several hosts share, results decide judgings as soon
// as those before are known (lazy evaluation), registering gives back what a host has not finished, and internal errors
// disable what they name.
//
// It checks each field that it receives more strictly than a real server, and collects what is wrong in Complaints.
// Faults can be put into any answer.
package domserver
