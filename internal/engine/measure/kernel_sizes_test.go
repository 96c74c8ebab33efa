package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/cpuset"
	"judged/internal/base/units"
	"judged/internal/host/machine"
	"judged/internal/sandbox/initproc"
)

func TestKernelSizes(t *testing.T) {
	const kib, mib = units.Bytes(1 << 10), units.Bytes(1 << 20)
	host := func(l2, l3 units.Bytes, sharers ...int) machine.Topology {
		var top machine.Topology
		for id := range 8 {
			top.CPUs = append(top.CPUs, machine.CPU{ID: id, L3: cpuset.New(sharers...), L2Size: l2, L3Size: l3})
		}
		return top
	}
	sizes := func(l2, l3, dram units.Bytes) map[string]units.Bytes {
		return map[string]units.Bytes{initproc.KernelL2: l2, initproc.KernelL3: l3, initproc.KernelL3Short: l3,
			initproc.KernelDRAM: dram, initproc.KernelTriad: 128 * mib}
	}
	for name, tt := range map[string]struct {
		host machine.Topology
		cpus cpuset.Set
		want map[string]units.Bytes
	}{
		"two share":      {host(mib, 32*mib, 0, 1), cpuset.New(1), sizes(512*kib, 4*mib, 128*mib)},
		"a slot of both": {host(mib, 32*mib, 0, 1), cpuset.New(0, 1), sizes(512*kib, 8*mib, 128*mib)},
		"alone":          {host(512*kib, 32*mib, 3), cpuset.New(3), sizes(256*kib, 8*mib, 128*mib)},
		"a share below the L2": {host(mib, 11*mib, 0, 1, 2, 3, 4, 5, 6, 7), cpuset.New(2),
			sizes(512*kib, 2*mib, 128*mib)},
		"large":                   {host(mib, 64*mib, 0, 1), cpuset.New(1), sizes(512*kib, 8*mib, 256*mib)},
		"stacked":                 {host(mib, 768*mib, 0, 1), cpuset.New(1), sizes(512*kib, 8*mib, 512*mib)},
		"nothing known":           {host(0, 0), cpuset.New(1), sizes(512*kib, 8*mib, 128*mib)},
		"a CPU that is not there": {host(0, 0), cpuset.New(99), sizes(512*kib, 8*mib, 128*mib)},
		"no CPU":                  {machine.Topology{}, nil, sizes(512*kib, 8*mib, 128*mib)},
	} {
		if diff := cmp.Diff(tt.want, kernelSizes(tt.host, tt.cpus)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestKernelArguments(t *testing.T) {
	sizes := map[string]units.Bytes{initproc.KernelL2: 1 << 19}
	for kernel, want := range map[string][]string{
		initproc.KernelL2:  {"./judged-canary", "l2", "524288"},
		initproc.KernelALU: {"./judged-canary", "alu"},
	} {
		if diff := cmp.Diff(want, kernelArguments(kernel, sizes)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kernel, diff)
		}
	}
}
