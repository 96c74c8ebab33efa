// Package virt detects the hypervisor on which the kernel runs. All other packages use this one.
//
// Belongs here: the sources (processor flag, DMI, device tree, Xen, WSL) and their order, for amd64 and arm64.
//
// Does not belong here: containers (see doctor and boot), and the consequences of the result.
package virt
