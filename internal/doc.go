// Package internal holds no code, only the map of the house. A package imports
// packages of lower floors and never one of its own; layers_test.go holds
// every import against this map.
//
//	cmd/judged                       [11] one file per verb; main hands over to stage first
//	cmd/judged-demo                  [11] the sample programs, judged by a daemon and shown
//	daemon                           [10] configuration -> parts -> tasks; readiness, drain
//	metrics httpapi client render    [9]  every metric in one place; routes and the page for people; HTTP client; tables
//	dispatch                         [8]  slot, job, judge, store, acknowledge
//	blob store queue                 [7]  content-addressed files; records and events; work queue with leases
//	jobs                             [7]  the store of all jobs in SQLite or PostgreSQL, to replace store and queue
//	experiment probe                 [7]  published experiments repeated; what a slot is like, tried out
//	broker                           [6]  NATS: the embedded server, or a cluster by URL
//	trial                            [6]  one program under several placements, in turns: how much its time varies
//	court judge canary intake        [5]  a host ready for judging; one job on one stand; reference kernels; the door for jobs
//	doctor checker problem measure   [4]  checks of the host; comparisons; tests on disk; one run or N -> Timing
//	sandbox slots evidence           [3]  one program run once; leases of CPUs; what disturbed a run
//	tune                             [3]  the table of knobs: plan, journal, apply, restore
//	boot fingerprint                 [3]  what to say before the kernel starts; which hosts may be compared
//	cmd/judged-init                  [3]  the first process of a sandbox
//	topology turbo seccomp runtimes  [2]  CPUs, cores, nodes; frequency switches; the system call policy; what programs load
//	cgroup stage                     [2]  v2, hybrid and v1 as one Group; what runs between clone and exec
//	job virt linux config            [1]  the model and its JSON; bare metal or hypervisor; system calls; configuration
//	units cpuset hostfs stats plot text [0]  bytes and their text; CPU lists; rooted /proc and /sys; decision rule, charts; pictures of runs; lines and names for people
//	testdata                         [0]  programs of the experiments, embedded
//
// testkit and what is below it serve tests, and the demo: nothing else
// imports it, and it imports nothing of the above but floors 0 to 5.
//
// The way of one submission is a straight line downwards:
//
//	client -> httpapi -> intake -> blob -> store (durable) -> queue (202)
//	       -> dispatch <- slots
//	       -> judge -> measure -> sandbox -> (cgroup, stage)   on the slot's CPUs
//	                   checker                                 on the housekeeping CPUs
//	       -> store (fenced) -> queue.Ack -> slot idle
//	       -> httpapi (long poll, events) -> client
package internal
