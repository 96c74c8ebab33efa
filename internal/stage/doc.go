// Package stage is what happens between the start of judged-init and the
// execve of the solution. It is the program of two processes:
//
//	judged                     judged-init (pid 1)            parked child
//	  | start with template       |                              |
//	  |-------------------------->| mount /box and /proc         |
//	  |<------------- ready ------|                              |
//	  |                           |                              |
//	  |-- load (a memfd, fds) --->| put files in place, fork --->| the steps of child.go, in
//	  |                           |<---------- parked -----------| its cgroups; the last but
//	  |<------------ parked ------|                              | one reads the go pipe
//	  |                           |                              |
//	  |-- one byte, go pipe ---------------------------------------------> execve
//	  |                           | waitid, read /proc, reap     |
//	  |<-------------- exit ------|                              (ended)
//	  |-- SIGKILL to pid 1 ------>| and with it the whole pid namespace
//
// judged-init never enters the slot's cpuset and is never billed to the run.
// The solution is not pid 1: the kernel shields pid 1 of a namespace from
// signals that it sends to itself, so abort() there is a SIGSEGV.
//
// This package must stay lean: it is linked into judged-init, whose start is
// paid for each run. No fmt, no encoding/json.
package stage
