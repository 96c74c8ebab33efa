package fingerprint

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"judged/internal/api"
)

// Apart lists the kernels that take longer or shorter than in a pool by more than a ratio, by name. Those that only
// one of them has do not count.
func Apart(k *api.KernelTimes, pool map[string]time.Duration, most float64) []Difference {
	var found []Difference
	for _, kernel := range slices.Sorted(maps.Keys(k.CPUTime)) {
		here, there := k.CPUTime[kernel], pool[kernel]
		if there == 0 {
			continue
		}
		if apart := float64(here)/float64(there) - 1; math.Abs(apart) > most {
			found = append(found, Difference{"reference kernel " + kernel, fmt.Sprintf("%s, %+.1f %%", milliseconds(here),
				100*apart), milliseconds(there)})
		}
	}
	return found
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }

// Median is the median of hosts for each kernel that one of them has. Of two in the middle it is the longer one.
func Median(hosts []*api.KernelTimes) map[string]time.Duration {
	times := map[string][]time.Duration{}
	for _, host := range hosts {
		for kernel, took := range host.CPUTime {
			times[kernel] = append(times[kernel], took)
		}
	}
	median := map[string]time.Duration{}
	for kernel, all := range times {
		slices.Sort(all)
		median[kernel] = all[len(all)/2]
	}
	return median
}

// Bounds are by how much times of equal slots or hosts may be apart, as ratios: operators are warned beyond Warn, and
// beyond Fail a verdict depends on where it was found.
type Bounds struct{ Warn, Fail float64 }

// BoundsOf are the bounds of virtual machines or of real ones. Other tenants of its host move the times of a virtual
// machine by some percent.
func BoundsOf(virtual bool) Bounds {
	if virtual {
		return Bounds{Warn: 0.02, Fail: 0.05}
	}
	return Bounds{Warn: 0.003, Fail: 0.01}
}

// hypervisor is the member that is "true" for virtual machines.
const hypervisor = "hypervisor"

// Virtual reports whether a host with these hard members is a virtual machine. One that does not say so is.
func Virtual(hard map[string]string) bool { return hard[hypervisor] != fmt.Sprint(false) }
