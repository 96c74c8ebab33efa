// Package seccomp defines which system calls a judged program may make: the policy as data (Policy, Default)
// and its translation to the classic BPF that seccomp(2) loads (Build).
//
// The policy is an allow list. A call that it does not list fails with ENOSYS, so that system calls of future
// kernels are refused by default and runtimes use their fallback. An attempt to escape kills the process with
// SIGSYS, which gives the verdict SV.
//
// Package initproc loads the filter, and package measure translates SIGSYS to a verdict. The filters of both
// architectures are data, so each can be built and tested on the other.
package seccomp
