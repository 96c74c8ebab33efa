package evidence

import (
	"fmt"
	"os"
	"slices"

	"judged/internal/base/cpuset"
	"judged/internal/host/hostfs"
)

// resctrl is the file system with the counters of caches and memory controllers (Intel RDT, AMD QoS), if it is mounted.
const resctrl = "/sys/fs/resctrl"

// monitors are the counter files of the L3 caches that the slot's CPUs use. They count all CPUs of such a cache:
// neighbours in the cache and on the memory bus leave no other trace.
//
// Each control group is counted separately and includes its monitoring groups. The sum is over the control groups that
// exist when judged starts. judged creates none: the configuration of the caches is the operator's.
type monitors struct {
	total, local []*os.File // mbm_total_bytes, mbm_local_bytes
	occupancy    []*os.File // llc_occupancy, bytes
}

// traffic holds the monitors' counters at one moment.
type traffic struct{ total, local, occupancy tally }

func openMonitors(fs hostfs.FS, cpus cpuset.Set) monitors {
	var m monitors
	for _, l3 := range cachesOf(fs, cpus) {
		name := fmt.Sprintf("/mon_data/mon_L3_%02d/", l3)
		groups := []string{resctrl}
		others, err := fs.Glob(resctrl + "/*/mon_data")
		if err != nil {
			continue
		}
		for _, path := range others {
			groups = append(groups, path[:len(path)-len("/mon_data")])
		}
		for _, g := range groups {
			m.total = appendOpen(m.total, fs, g+name+"mbm_total_bytes")
			m.local = appendOpen(m.local, fs, g+name+"mbm_local_bytes")
			m.occupancy = appendOpen(m.occupancy, fs, g+name+"llc_occupancy")
		}
	}
	return m
}

// cachesOf returns the numbers of the L3 caches in resctrl.
func cachesOf(fs hostfs.FS, cpus cpuset.Set) []int64 {
	var ids []int64
	for _, cpu := range cpus {
		id, err := fs.ReadInt(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cache/index3/id", cpu))
		if err == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (m monitors) files() []*os.File { return slices.Concat(m.total, m.local, m.occupancy) }

// sumOf returns the sum of files that contain a single number. A monitor that has lost its count returns "Unavailable"
// or "Error" and is skipped.
func (r *Reader) sumOf(files []*os.File) tally {
	var t tally
	for _, f := range files {
		t.addField(r.read(f), 0)
	}
	return t
}

func appendOpen(files []*os.File, fs hostfs.FS, path string) []*os.File {
	if f := open(fs, path); f != nil {
		return append(files, f)
	}
	return files
}
