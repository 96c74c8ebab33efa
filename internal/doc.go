// Package internal holds no code, only the map of the packages. They are
// grouped into wings, lowest first; layers_test.go checks every import against
// this map. A package imports packages of lower wings, and packages of the same
// wing with a lower floor, which is the number in brackets.
//
//	base     what every wing uses
//	  base/cpuset base/text base/units                 [0]  CPU lists; lines and names for people; sizes and their text
//	  base/linux                                       [0]  system calls
//	  base/poll                                        [0]  values that are read again once old; periodic loops
//	  base/diskcache                                   [1]  folders that are kept until others need the space
//	  api                                              [1]  the model: jobs, reports and their JSON; points of groups
//	  base/config                                      [2]  configuration
//	host     what the machine is, and how it is set up
//	  host/hostfs                                      [0]  /proc and /sys under a root, and their parsers
//	  host/machine                                     [2]  CPUs, cores, nodes; hypervisor; frequency switches
//	  host/slots host/settings                         [3]  leases of CPUs; every setting, its cost, its wanted value
//	  host/tune                                        [4]  host settings, now and from the next boot
//	  host/doctor                                      [5]  checks of the host; what its times depend on
//	sandbox  one program run once
//	  sandbox/seccomp sandbox/runtimes                 [0]  the system call policy; what programs load
//	  sandbox/cgroup sandbox/initproc                  [0]  v2, hybrid and v1 as one Group; from clone to exec
//	  sandbox                                          [1]  prepare, load, run, close
//	timing   what a measured time is worth
//	  timing/stats                                     [0]  the decision rule, dispersion, comparison
//	  timing/evidence                                  [1]  what disturbed a run, and by how much
//	engine   from a job to a report
//	  engine/checker engine/jury                       [0]  comparisons; checkers that are programs
//	  engine/languages                                 [0]  sources compiled in the sandbox, and kept
//	  engine/problem                                   [1]  tests and problem packages on disk
//	  engine/measure                                   [1]  one test, repeated as its rule asks; reference kernels
//	  engine/judge                                     [2]  one job on one worker
//	  engine                                           [3]  a host ready to judge: slots, one worker each
//	jobs     what must not get lost
//	  jobs/blobs                                       [0]  files by digest
//	  client                                           [1]  HTTP client of the daemon
//	  jobs                                             [1]  the store of all jobs, in SQLite or PostgreSQL
//	  jobs/intake                                      [2]  from a request to a job in the queue; rejudgings
//	fleet    judging on many hosts
//	  fleet/front fleet/judge                          [0]  the two sides; neither imports the other
//	lab      how much times vary
//	  lab/bench                                        [0]  programs under several placements, in turns; their charts
//	  lab/probe                                        [1]  what a slot is like
//	service  what runs as a daemon
//	  service/metrics service/render                   [0]  every metric; reports as tables
//	  service/callback                                 [0]  reports the ends of jobs to URLs
//	  service/judgehost                                [0]  judges for a DOMjudge server
//	  service/httpapi                                  [1]  routes, their authorization and limits
//	  service/dispatch                                 [1]  the job loop; which slots are fit to judge on
//	  service/judge0 service/web                       [2]  the interface of Judge0, over jobs; pages for people
//	  service/daemon                                   [3]  configuration -> parts -> tasks; readiness, drain
//
// The commands in cmd/ are above all of them. cmd/judged-init, the first process
// of a sandbox, imports sandbox/initproc only. The packages
// testdata (programs of the experiments) and configs (built-in configuration) are
// below all of them.
//
// Only tests and the demo import testkit and the packages below it.
//
// Life of a submission:
//
//	client -> httpapi -> intake (blobs) -> jobs.Put (durable: 202)
//	       -> dispatch: free slot (slots) -> jobs.Take (lease)
//	       -> judge -> measure -> sandbox -> (cgroup, initproc)   on the slot's CPUs
//	                   checker                                    on the housekeeping CPUs
//	       -> slot free -> jobs.Finish (fenced)
//	       -> httpapi (long poll, events) -> client
package internal
