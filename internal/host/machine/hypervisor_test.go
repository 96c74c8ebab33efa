package machine

import (
	"strings"
	"testing"
	"testing/fstest"

	"judged/internal/host/hostfs"
)

// x86 returns a /proc/cpuinfo with the given flags.
func x86(flags string) string {
	return "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu tsc msr " + flags + "\nbugs\t\t: spectre_v1\n"
}

const (
	arm    = "processor\t: 0\nFeatures\t: fp asimd evtstrm aes\nCPU implementer\t: 0x41\n"
	debian = "Linux version 6.1.0-18-cloud-amd64 (debian-kernel@lists.debian.org) (gcc-12)"
)

func TestHypervisor(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string // "" means an empty file
		want  string
	}{
		{"Intel", map[string]string{cpuinfo: x86("vmx"), dmiVendor: "Dell Inc.", dmiProduct: "PowerEdge R650"}, ""},
		{"AMD", map[string]string{cpuinfo: x86("svm"), dmiVendor: "Supermicro", dmiProduct: "AS -1114S-WTRT"}, ""},
		{"arm64 server", map[string]string{cpuinfo: arm, dmiVendor: "GIGABYTE", dmiProduct: "R152-P30"}, ""},
		{"arm64 board", map[string]string{cpuinfo: arm, treeMachine: "raspberrypi,5-model-b\x00brcm,bcm2712\x00"}, ""},
		{"tablet", map[string]string{cpuinfo: arm, dmiVendor: "Microsoft Corporation", dmiProduct: "Surface Pro X"},
			""},
		{"nothing readable", nil, ""},
		{"KVM", map[string]string{cpuinfo: x86("hypervisor"), dmiVendor: "QEMU",
			dmiProduct: "Standard PC (Q35 + ICH9, 2009)"}, "QEMU"},
		{"KVM that hides the flag", map[string]string{cpuinfo: x86(""), dmiVendor: "QEMU",
			dmiProduct: "Standard PC (Q35 + ICH9, 2009)"}, "QEMU"},
		{"Xen PV", map[string]string{cpuinfo: x86(""), xenType: "xen"}, "xen"},
		{"Xen HVM", map[string]string{cpuinfo: x86("hypervisor"), xenType: "xen", dmiVendor: "Xen",
			dmiProduct: "HVM domU"}, "xen"},
		{"Xen HVM without /sys/hypervisor", map[string]string{cpuinfo: x86("hypervisor"), dmiVendor: "Xen",
			dmiProduct: "HVM domU"}, "Xen"},
		{"Xen arm64", map[string]string{cpuinfo: arm, treeVirt: "xen,xen-4.17\x00xen,xen\x00",
			treeMachine: "xen,xenvm-4.17\x00xen,xenvm\x00"}, "xen,xen-4.17"},
		{"Azure", map[string]string{cpuinfo: x86("hypervisor"), dmiVendor: "Microsoft Corporation",
			dmiProduct: "Virtual Machine",
			version:    "Linux version 6.5.0-1016-azure (buildd@lcy02-amd64-026)"}, "Microsoft Corporation"},
		{"Azure arm64", map[string]string{cpuinfo: arm, dmiVendor: "Microsoft Corporation",
			dmiProduct: "Virtual Machine"}, "Microsoft Corporation"},
		{"VMware", map[string]string{cpuinfo: x86("hypervisor"), dmiVendor: "VMware, Inc.", dmiProduct: "VMware7,1"},
			"VMware, Inc."},
		{"VMware arm64", map[string]string{cpuinfo: arm, dmiVendor: "VMware, Inc.", dmiProduct: "VMware20,1"},
			"VMware, Inc."},
		{"WSL2", map[string]string{cpuinfo: x86("hypervisor"),
			version: "Linux version 5.15.146.1-microsoft-standard-WSL2 (root@65c757a075e2)"}, "WSL"},
		{"WSL2 arm64", map[string]string{cpuinfo: arm,
			version: "Linux version 5.15.146.1-microsoft-standard-WSL2 (root@65c757a075e2)"}, "WSL"},
		{"WSL1", map[string]string{cpuinfo: x86(""),
			version: "Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com)"}, "WSL"},
		{"EC2 Nitro amd64", map[string]string{cpuinfo: x86("hypervisor"), dmiVendor: "Amazon EC2",
			dmiProduct: "c7i.large"}, "Amazon EC2"},
		{"EC2 metal amd64", map[string]string{cpuinfo: x86("vmx"), dmiVendor: "Amazon EC2",
			dmiProduct: "c7i.metal-24xl"}, ""},
		{"EC2 arm64", map[string]string{cpuinfo: arm, dmiVendor: "Amazon EC2", dmiProduct: "c7g.large"}, "Amazon EC2"},
		{"EC2 metal arm64", map[string]string{cpuinfo: arm, dmiVendor: "Amazon EC2", dmiProduct: "c7g.metal"}, ""},
		{"EC2 metal arm64 with a size", map[string]string{cpuinfo: arm, dmiVendor: "Amazon EC2",
			dmiProduct: "m7g.metal-24xl"}, ""},
		{"EC2 of the Xen age", map[string]string{cpuinfo: x86("hypervisor"), xenType: "xen", dmiVendor: "Xen",
			dmiProduct: "HVM domU"}, "xen"},
		{"GCE", map[string]string{cpuinfo: x86("hypervisor"), dmiVendor: "Google", dmiProduct: "Google Compute Engine"},
			"Google"},
		{"GCE metal amd64", map[string]string{cpuinfo: x86("vmx"), dmiVendor: "Google",
			dmiProduct: "Google Compute Engine"}, ""},
		{"GCE arm64", map[string]string{cpuinfo: arm, dmiVendor: "Google", dmiProduct: "Google Compute Engine"},
			"Google"},
		{"Chromebook arm64", map[string]string{cpuinfo: arm, dmiVendor: "Google", dmiProduct: "Lazor"}, ""},
		{"Hetzner arm64", map[string]string{cpuinfo: arm, dmiVendor: "Hetzner", dmiProduct: "vServer"}, "Hetzner"},
		{"QEMU arm64 with ACPI", map[string]string{cpuinfo: arm, dmiVendor: "QEMU", dmiProduct: "QEMU Virtual Machine"},
			"QEMU"},
		{"QEMU arm64 with a device tree", map[string]string{cpuinfo: arm, treeMachine: "linux,dummy-virt\x00"},
			"linux,dummy-virt"},
		{"KVM with a hypervisor node", map[string]string{cpuinfo: arm, treeVirt: "linux,kvm\x00",
			treeMachine: "linux,dummy-virt\x00"}, "linux,kvm"},
		{"Firecracker amd64", map[string]string{cpuinfo: x86("hypervisor")}, unnamed},
		{"Firecracker arm64", map[string]string{cpuinfo: arm, treeMachine: "linux,dummy-virt\x00"}, "linux,dummy-virt"},
		{"Apple", map[string]string{cpuinfo: arm, dmiVendor: "Apple Inc.",
			dmiProduct: "Apple Virtualization Generic Platform"}, "Apple Inc."},
		{"VirtualBox", map[string]string{cpuinfo: x86("hypervisor"), dmiVendor: "innotek GmbH",
			dmiProduct: "VirtualBox"}, "innotek GmbH"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := fstest.MapFS{"proc/version": {Data: []byte(debian), Mode: 0o444}}
			for path, text := range tt.files {
				tree[strings.TrimPrefix(path, "/")] = &fstest.MapFile{Data: []byte(text + "\n"), Mode: 0o444}
			}
			if got := Hypervisor(hostfs.Of(tree)); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
