// Package seccomp holds what a program under judgement may ask of the kernel:
// the policy as data (Policy, Default), what it means (Policy.ActionOf) and its
// translation to the classic BPF that seccomp(2) loads (Build).
//
// It is an allow list. Whatever is not named answers ENOSYS, so that a system
// call of a future kernel is closed by default and runtimes use their fallback.
// Escapes kill the process with SIGSYS, which is the verdict SV.
//
// Loading the filter belongs to stage, reading SIGSYS as a verdict to measure.
// Both architectures are data, so each can be built and tested on the other.
package seccomp
