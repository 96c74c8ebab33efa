// Package topology describes the machine: CPUs, cores, SMT siblings, caches and NUMA nodes, and which CPUs the
// kernel isolates. Its values have no references to the host, so that they can be compared, printed and built
// by hand in tests.
//
// Belongs here: facts about hardware and isolation, and their format in the kernel's files.
//
// Does not belong here: evaluation (doctor), planning of slots (slots), and what can change between two runs,
// such as turbo (turbo).
package topology
