package machine

import (
	"slices"
	"strings"

	"judged/internal/host/hostfs"
)

// The files that are read. All are optional.
const (
	cpuinfo     = "/proc/cpuinfo"
	version     = "/proc/version"
	xenType     = "/sys/hypervisor/type"
	dmiVendor   = "/sys/class/dmi/id/sys_vendor"
	dmiProduct  = "/sys/class/dmi/id/product_name"
	treeVirt    = "/proc/device-tree/hypervisor/compatible"
	treeMachine = "/proc/device-tree/compatible"
)

// HypervisorPaths returns the files that Hypervisor reads, for reports.
func HypervisorPaths() []string {
	return []string{cpuinfo, version, xenType, dmiVendor, dmiProduct, treeVirt, treeMachine}
}

// WSL is the name of the hypervisor of the Windows Subsystem for Linux. There, Windows and not a boot loader
// starts the kernel.
const WSL = "WSL"

// unnamed is the name of a hypervisor that is detected only by the processor flag, such as Firecracker.
const unnamed = "unnamed"

// Hypervisor returns the name of the hypervisor, or "" on bare metal. The first domain of Xen counts as a
// guest, because Xen also schedules its CPUs.
func Hypervisor(h hostfs.FS) string {
	read := func(path string) string {
		text, err := h.Read(path)
		if err != nil {
			return ""
		}
		return strings.TrimRight(text, "\x00\n ")
	}
	info, vendor, product := read(cpuinfo), read(dmiVendor), read(dmiProduct)
	// Bit 31 of ECX in CPUID leaf 1, which only x86 has.
	flags, x86 := hostfs.CPUFlags(info)
	flagged := slices.Contains(flags, "hypervisor")
	switch tree := read(treeVirt); {
	case strings.Contains(strings.ToLower(read(version)), "microsoft"):
		return WSL
	case read(xenType) != "":
		return read(xenType)
	case tree != "":
		name, _, _ := strings.Cut(tree, "\x00") // the first one is the most specific
		return name
	case flagged && vendor == "":
		return unnamed
	case flagged, onlyVirtual(vendor, product), !x86 && cloudGuest(vendor, product):
		return vendor
	case slices.Contains(strings.Split(read(treeMachine), "\x00"), dummyMachine):
		return dummyMachine
	}
	return ""
}

// Described reports whether the flags of the processor or the device tree are known. Without both, Hypervisor returns
// "" for many virtual machines, too.
func Described(h hostfs.FS) bool {
	info, infoErr := h.Read(cpuinfo)
	tree, treeErr := h.Read(treeMachine)
	flags, _ := hostfs.CPUFlags(info)
	return infoErr == nil && len(flags) > 0 || treeErr == nil && tree != ""
}

// dummyMachine is the machine name of QEMU, kvmtool, crosvm and Firecracker in the device tree on arm64, where
// the tree has no node for the hypervisor.
const dummyMachine = "linux,dummy-virt"

// onlyVirtual reports whether DMI names a vendor or product that exists only as a virtual machine. This is
// sufficient even if the hypervisor hides the flag.
func onlyVirtual(vendor, product string) bool {
	for _, name := range []string{"QEMU", "KVM", "VMware", "VMW", "innotek GmbH", "VirtualBox", "Xen", "Bochs",
		"Parallels", "BHYVE", "OpenStack",
		"KubeVirt", "Apple Virtualization"} {
		if strings.HasPrefix(vendor, name) || strings.HasPrefix(product, name) {
			return true
		}
	}
	// Other machines of this vendor are physical, such as tablets.
	return vendor == "Microsoft Corporation" && product == "Virtual Machine"
}

// cloudGuest reports whether DMI names a guest of a cloud that also rents out bare metal. On x86 the flag
// distinguishes the two, on arm64 the name of the instance type: c7g.metal and m7g.metal-24xl are bare metal.
func cloudGuest(vendor, product string) bool {
	switch {
	case vendor == "Amazon EC2":
		return !strings.Contains(product, ".metal")
	case vendor == "Google":
		return product == "Google Compute Engine"
	}
	return vendor == "Hetzner" && product == "vServer"
}
