// Package topology says what the machine is made of: CPUs, cores, SMT siblings, caches and NUMA
// nodes, and which CPUs the kernel keeps free of other work. It is read once into a pure value that
// can be compared, printed and built by hand in tests.
//
// Belongs here: facts about hardware and isolation, and how the kernel writes them down.
//
// Does not belong here: judgement (doctor), planning of slots (slots), and what can change between
// two runs, such as turbo (turbo).
package topology
