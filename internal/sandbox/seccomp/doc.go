// Package seccomp defines which system calls a judged program may make: the policy as data (Policy, Default), its
// meaning (Policy.ActionOf) and its translation to the classic BPF that seccomp(2) loads (Build).
//
// The policy is an allow list. A call that it does not name fails with ENOSYS, so that a system call of a future
// kernel is refused by default and runtimes use their fallback. An attempt to escape kills the process with SIGSYS,
// which is the verdict SV.
//
// Package initproc loads the filter, and package measure reads SIGSYS as a verdict. The filters of both architectures
// are data, so each can be built and tested on the other.
package seccomp
