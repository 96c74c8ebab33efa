// Package guest boots a Linux kernel of its own under QEMU's software
// emulation and runs programs in it as root, so that tests reach isolated and
// tickless CPUs, NUMA nodes, SMT and cgroup v2 on any machine. It needs no KVM,
// no network and no privileges; .ci/setup fetches the emulator and the kernel.
//
//	host (Boot)                         guest (/init, package guest/init)
//	plan.json and files in a cpio  -->  mounts, runs the commands in order
//	file behind the second serial  <--  wire.Frame lines: output, exit codes
//	file behind the first serial   <--  the kernel's console, shown on failure
//	QEMU exits                     <--  power off
//
// What the guest's clocks show is no measurement: its CPUs are threads that
// share the host's. Test placement, limits and effects there, never times.
package guest
