// Package initproc is what happens between clone and execve: the program of
// judged-init, and of the processes that it forks.
//
// judged-init starts once, in the namespaces that all sandboxes have in common
// (an empty network, a host name, a file system to start from), and then forks
// two processes for each run. Both are siblings of judged-init, so that judged
// itself is their parent, can wait for them and sees them end. Neither ever
// runs Go code: a fork of a Go program has one thread and a runtime that
// believes in several, so all they do is a list of system calls that was
// prepared before the fork (linux.ForkSteps). Nor do they have any of
// judged-init's memory but that list: it need not be copied, and there is nothing
// to find in it.
//
//	judged                  judged-init           process 1            parked child
//	  |-- 'i' ---------------->| fork ------------->| new namespaces
//	  |<------- pid -----------|<----- parked ------| sleeps for ever
//	  | makes the box with its files
//	  |-- 'c', load, fds ----->| fork ---------------------------------->| joins its cgroups and
//	  |<------- pid -----------|                                         | namespaces, mounts the box
//	  |                                                                  | and /proc, drops all rights,
//	  |<--------------------------- parked, report pipe -----------------| filter on
//	  |---------------------------- one byte, gate pipe ---------------->| execve
//	  | pidfd readable: ended, still a zombie, counters read, reaped     (ended)
//	  |-- SIGKILL ------------------------------->(and with it the pid namespace)
//
// Process 1 holds the pid namespace and takes in orphans. The solution is not
// process 1: the kernel shields that one from signals that it sends to itself,
// so abort() there is a SIGSEGV. Nothing of judged ever enters the slot's
// cpuset or is billed to the run.
//
// A judged-init that is started anew for each run was tried first: a Go program
// takes 0.9 ms to start where a fork of a small one takes 0.2.
//
// This package stays lean, without fmt and encoding/json: judged carries
// judged-init inside itself, and starts it anew when it has ended.
package initproc
