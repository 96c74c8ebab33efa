// Package initproc is what runs between clone and execve: the program judged-init, and the processes that it forks.
//
// judged-init starts once, in the namespaces that all sandboxes share (an empty network, a host name, an initial file
// system), and then forks two processes for each run. Both are siblings of judged-init, so that judged itself is
// their parent, can wait for them and sees them end. Neither ever runs Go code: a fork of a Go program has one thread
// and a runtime that assumes several. They only execute a list of system calls that was prepared before the fork
// (linux.ForkSteps). That list is also all they have of judged-init's memory: the rest need not be copied, and there
// is nothing to find in it.
//
//	judged                  judged-init           process 1            parked child
//	  |-- 'i' ---------------->| fork ------------->| new namespaces
//	  |<------- pid -----------|<----- parked ------| sleeps forever
//	  | makes the box with its files
//	  |-- 'c', load, fds ----->| fork ---------------------------------->| joins its cgroups and
//	  |<------- pid -----------|                                         | namespaces, mounts the box
//	  |                                                                  | and /proc, drops all rights,
//	  |<--------------------------- parked, report pipe -----------------| filter on
//	  |---------------------------- one byte, gate pipe ---------------->| execve
//	  | pidfd readable: ended, still a zombie, counters read, reaped     (ended)
//	  |-- SIGKILL ------------------------------->(and with it the pid namespace)
//
// Process 1 holds the pid namespace and reaps orphans. The solution is not process 1: the kernel shields process 1
// from signals that it sends to itself, so abort() there is a SIGSEGV. Nothing of judged ever enters the slot's
// cpuset or is charged to the run.
//
// A new judged-init for each run is slower: a Go program takes 0.9 ms to start, the fork of a small one 0.2 ms.
//
// This package stays small: judged embeds judged-init, and restarts it when it has ended.
package initproc
