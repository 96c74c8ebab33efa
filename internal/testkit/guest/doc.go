// Package guest boots a Linux kernel under QEMU's software
// emulation and runs programs in it as root, so that tests reach isolated and
// tickless CPUs, NUMA nodes, SMT and cgroup v2 on any machine. It needs no KVM,
// no network and no privileges; .ci/setup fetches the emulator and the kernel.
//
//	host (Boot)                         guest (/init, package guest/init)
//	plan.json and files in a cpio  -->  mounts, runs the commands in order
//	file behind the second serial  <--  Frame lines: output, exit codes,
//	                                    and a sign of life every second
//	file behind the first serial   <--  the kernel's console, shown on failure
//	QEMU exits                     <--  power off
//
// A guest that gives no sign of life, or whose kernel reports a stall, is
// started again, twice at most, and the test's log says so.
//
// The guest's clocks are not suitable for measurements: its CPUs take turns on one
// thread of the host. Test placement, limits and effects there, never times.
package guest
