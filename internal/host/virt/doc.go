// Package virt decides whether the kernel runs on a hypervisor, and names it. Every other package that needs to
// know asks here.
//
// Belongs here: the witnesses (processor flag, DMI, device tree, Xen, WSL) and their order, for amd64 and arm64.
//
// Does not belong here: containers (doctor and boot decide about those) and what follows from the answer.
package virt
