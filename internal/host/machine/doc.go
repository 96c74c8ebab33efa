// Package machine describes the hardware that the kernel runs on: its topology (CPUs, cores, SMT siblings, caches,
// NUMA nodes, and which CPUs the kernel isolates), its hypervisor, and whether its processors may exceed their
// nominal frequency.
//
// Belongs here: facts about hardware and isolation, the kernel's files that state them, for amd64 and arm64, and
// their format. Values have no references to the host, so that they can be compared, printed and built by hand in
// tests. ReadTurbo is called before each lease, so it reads only a few files.
//
// Does not belong here: evaluation (doctor), planning of slots (slots), containers (doctor, boot), and switching
// turbo off (tune).
package machine
