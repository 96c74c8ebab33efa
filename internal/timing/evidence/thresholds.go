package evidence

import (
	"time"

	"judged/internal/base/units"
)

// Thresholds are the values of counters from which a run counts as disturbed. Each is above the values of undisturbed
// runs. The defaults are a first estimate: the 99th percentile of undisturbed reference kernels is better.
type Thresholds struct {
	Wait    Share // of Facts.CPUTime
	Foreign Share // of Facts.WallTime, for each CPU
	IRQTime Share // of Facts.WallTime, for each CPU; hard and soft interrupts together

	StealTicks int64 // this number and more

	Preempted     Count         // involuntary switches
	PreemptionGap time.Duration // the shortest preemption by another program

	Device Count // numbered interrupts, for each CPU
	IPI    Count // RES, CAL and TLB, on a slot of one CPU
	NMI    Count // for each CPU

	TickRate  float64 // the kernel's HZ; timer interrupts a second on an ordinary CPU
	TickSlack float64 // tolerated excess, as a ratio
	NohzTicks Count   // timer interrupts on a nohz_full CPU, for each CPU

	FaultCost FaultCost

	SoftIRQ     Count // NET_TX, NET_RX and BLOCK, for each CPU
	IRQPressure Share // of Facts.CPUTime
	Frequency   Frequency
	SMI         Count
	Swap        Count // pages of the host
	Refault     Count // pages of a run that was never at its memory limit
	NUMA        Count // pages moved between nodes
	Remote      Volume
	Neighbours  Neighbours
}

// Neighbours has the thresholds for CPUs outside the slot that share its cache or NUMA node.
type Neighbours struct {
	Busy float64 // a larger fraction of the wall time is a disturbance
	Cost float64 // most by which a run is longer if they are busy all the time, as a ratio
}

// Frequency has the thresholds for the CPU's frequency, as a ratio to the nominal one.
type Frequency struct {
	Plan   float64       // 0 means unknown: then the frequency is not checked
	Slack  float64       // tolerated deviation, as a fraction of Plan
	MinCPU time.Duration // minimum for a run; in a shorter one, the cycles of others have too much weight
}

func (t Frequency) off(ratio *float64) float64 {
	if t.Plan <= 0 || ratio == nil {
		return 0
	}
	return *ratio/t.Plan - 1
}

// Volume is exceeded by more than both Floor and the fraction Ratio of the bytes it is compared with.
type Volume struct {
	Floor units.Bytes
	Ratio float64
}

func (t Volume) exceeded(n, of units.Bytes) bool {
	return n > max(t.Floor, units.Bytes(t.Ratio*float64(of)))
}

// Share is exceeded by more than both Floor and the fraction Ratio of the time it is compared with.
type Share struct {
	Floor time.Duration
	Ratio float64
}

func (t Share) exceeded(d, of time.Duration) bool {
	return d > max(t.Floor, time.Duration(t.Ratio*float64(of)))
}

// Count is exceeded by more than Base plus PerSecond of wall time.
type Count struct {
	Base      int64
	PerSecond float64
}

func (t Count) exceeded(n int64, wall time.Duration) bool {
	return float64(n) > float64(t.Base)+t.PerSecond*wall.Seconds()
}

// FaultCost has the thresholds for the system time per page fault. It is checked only if faults take most of the system
// time: there are many faults, a significant system time, and a cost that is plausible for a fault.
type FaultCost struct {
	Above     time.Duration // a higher cost is a disturbance
	Below     time.Duration // with a higher cost, other system calls took the time
	MinFaults int64
	MinSystem time.Duration
	MinRatio  float64 // ratio of system time to CPU time
}

// DefaultThresholds returns the thresholds for bare metal or a virtual machine. The figures have three sources: [M]
// measured on a shared virtual machine with two CPUs (kernel 6.18, HZ 250), with and without neighbours; [D]
// documentation or source of the kernel; [E] an engineering estimate, to be replaced by figures of the pool.
func DefaultThresholds(virtual bool) Thresholds {
	t := Thresholds{
		// [M] Dropping runs that waited over 0.5 % of their CPU time reduced the spread of wall time from 66 % to 4 %.
		// [E] 0.2 % on bare metal, where no hypervisor adds to it.
		Wait: Share{time.Millisecond, 0.002},
		// [E] The same as for waiting: the run waits while another program has the CPU.
		Foreign: Share{time.Millisecond, 0.002},
		// [M] Timer and softirq work takes 0.1 % of a busy CPU. One tick more or less means nothing, because both
		// counters are rounded down to 10 ms.
		IRQTime: Share{2 * tick, 0.01},

		// [M] 22 of 360 quiet runs had steal; dropping them is half of the improvement above.
		StealTicks: 1,

		// [M] An undisturbed run has 8 in 0.58 s. The threshold is three times that, and 10 for short runs.
		Preempted: Count{10, 42},
		// [E] Two switches and a kernel thread. With this duration, the count above takes as much time as Foreign
		// allows, so a program with many threads on a quiet CPU does not exceed it.
		PreemptionGap: 20 * time.Microsecond,

		// [D] irqaffinity and the affinity masks of IRQs keep devices off isolated CPUs.
		Device: Count{0, 0},
		// [M] The wake-up at the start is one. Preparing the next sandbox causes some: an expedited grace period
		// interrupts every CPU, and changing a static key causes 4 (120 for 30 changes).
		IPI: Count{30, 20},
		// [D] The hard lockup detector causes about one in 10 s of busy CPU.
		NMI: Count{2, 1},

		// [D] CONFIG_HZ is 100, 250, 300 or 1000 and cannot be read (USER_HZ is always 100). The largest value has no
		// false positives.
		TickRate:  1000,
		TickSlack: 0.05,
		// [M] 0 ticks in 2 s of spinning on a nohz_full CPU. [E] A few until the tick stops, and one a second on older
		// kernels.
		NohzTicks: Count{5, 5},

		// [M] Undisturbed the median is 1.55 µs and the 95th percentile 2.2; in disturbed runs it is 5 to 11.7. [E] 25
		// µs is above all of those and below the cost of a 2 MiB page. System time is sampled in ticks of up to 10 ms,
		// hence the minimum amounts.
		FaultCost: FaultCost{Above: 5 * time.Microsecond, Below: 25 * time.Microsecond,
			MinFaults: 5000, MinSystem: 30 * time.Millisecond, MinRatio: 0.05},

		// [D] As for devices: their deferred work runs on the CPU that they interrupted.
		SoftIRQ: Count{0, 0},
		// [E] 0.1 %, plus the same for the tick, which is an interrupt too.
		IRQPressure: Share{time.Millisecond, 0.002},
		// [E] The planned frequency is the nominal one if turbo is off, else that of the reference kernels. With a
		// fixed frequency, no change of temperature makes a difference of 0.3 %.
		Frequency: Frequency{Plan: 0, Slack: 0.003, MinCPU: 10 * time.Millisecond},
		// [E] An SMI takes tens to hundreds of microseconds on every CPU. Some firmware causes one a second.
		SMI: Count{0, 1},
		// [D] Sandboxes do not swap. Other programs that swap keep the disk and the memory busy.
		Swap: Count{0, 0},
		// [D] Pages of a run below its limit are evicted only if the host is out of memory.
		Refault: Count{0, 0},
		// [D] Only NUMA balancing moves pages, and a run is bound to its node.
		NUMA: Count{0, 0},
		// [E] Housekeeping on the node reads some memory of other nodes.
		Remote: Volume{16 << 20, 0.01},
		// [M] A sieve took 211 ms of CPU time next to an idle CPU and 282 ms next to one that copied memory. [E]
		// Daemons of the host take up to a tenth of the wall time.
		Neighbours: Neighbours{Busy: 0.1, Cost: 0.35},
	}
	if virtual {
		// [E] Time that the hypervisor takes in slices too short to be counted as steal adds to the wait.
		t.Wait = Share{2 * time.Millisecond, 0.005}
		t.Foreign = t.Wait
		// [M] 110 to 230 a second by kernel threads of 15 to 20 µs each, in runs that waited less than 0.5 %. This too
		// takes as much time as Foreign allows.
		t.Preempted = Count{10, 250}
		// [E] Virtual devices cannot always be moved off a CPU. At 10 µs each, this stays below 0.1 %.
		t.Device = Count{10, 50}
		t.SoftIRQ = t.Device
		// [M] The tick alone takes 17 µs 250 times a second: 0.4 %.
		t.IRQPressure = Share{2 * time.Millisecond, 0.01}
		// [M] About 1 a second on an idle guest, hundreds next to a compiler. [E] At 5 µs each, including the exit,
		// this stays below 0.1 %.
		t.IPI = Count{50, 100}
	}
	return t
}
