package evidence

import (
	"time"

	"judged/internal/base/units"
)

// Thresholds say from where on a counter makes a run disturbed. Each lies above what an undisturbed
// run shows. They are first values: the p99 of a pool's undisturbed canaries is the better figure.
type Thresholds struct {
	Wait    Share // of Facts.CPUTime
	Foreign Share // of Facts.WallTime, once for each CPU
	IRQTime Share // of Facts.WallTime, once for each CPU; hard and soft interrupts together

	StealTicks int64 // from this many on

	Preempted     Count         // involuntary switches
	PreemptionGap time.Duration // what one preemption by a stranger takes at least

	Device Count // numbered interrupts, for each CPU
	IPI    Count // RES, CAL and TLB, on a slot of one CPU
	NMI    Count // for each CPU

	TickRate  float64 // the kernel's HZ; timer interrupts a second on an ordinary CPU
	TickSlack float64 // how much over it is too much, as a ratio
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

// Neighbours judges the CPUs of the slot's cache and memory domain that are not judged's.
type Neighbours struct {
	Busy float64 // a larger part of the wall time is a disturbance
	Cost float64 // what a run takes longer at most while they are busy all the time, as a part of its CPU time
}

// Frequency judges what the CPU's frequency was, as a part of the nominal one.
type Frequency struct {
	Plan   float64       // 0 is unknown, and then nothing is judged
	Slack  float64       // how far off is too far, as a part of Plan
	MinCPU time.Duration // of a run; in a shorter one others' cycles count as much
}

func (t Frequency) off(ratio *float64) float64 {
	if t.Plan <= 0 || ratio == nil {
		return 0
	}
	return *ratio/t.Plan - 1
}

// Volume is exceeded above Floor and above Ratio of the bytes it is compared with.
type Volume struct {
	Floor units.Bytes
	Ratio float64
}

func (t Volume) exceeded(n, of units.Bytes) bool {
	return n > max(t.Floor, units.Bytes(t.Ratio*float64(of)))
}

// Share is exceeded above Floor and above Ratio of the time it is compared with.
type Share struct {
	Floor time.Duration
	Ratio float64
}

func (t Share) exceeded(d, of time.Duration) bool {
	return d > max(t.Floor, time.Duration(t.Ratio*float64(of)))
}

// Count is exceeded above Base plus PerSecond of wall time.
type Count struct {
	Base      int64
	PerSecond float64
}

func (t Count) exceeded(n int64, wall time.Duration) bool {
	return float64(n) > float64(t.Base)+t.PerSecond*wall.Seconds()
}

// FaultCost judges the system time of a run by its page faults. It does so only where faults are
// what the time went to: many of them, a noticeable system time, and a price that a fault can have.
type FaultCost struct {
	Above     time.Duration // a fault dearer than this was disturbed
	Below     time.Duration // dearer than this, other system calls cost the time
	MinFaults int64
	MinSystem time.Duration
	MinRatio  float64 // system time of CPU time
}

// DefaultThresholds are for bare metal or for a virtual machine. The figures come from three places:
// [M] measured on a shared two-CPU virtual machine (kernel 6.18, HZ 250), with and without neighbours; [D]
// documentation or source of the kernel; [E] an engineering estimate, to be replaced by the pool's own.
func DefaultThresholds(virtual bool) Thresholds {
	t := Thresholds{
		// [M] Dropping runs that waited over 0.5 % of their CPU time took the spread of wall time
		// from 66 % to 4 %. [E] 0.2 % on bare metal, where nothing below the kernel adds to it.
		Wait: Share{time.Millisecond, 0.002},
		// [E] As much as a run may wait: a stranger on its CPU and its wait are the same time.
		Foreign: Share{time.Millisecond, 0.002},
		// [M] Timer and softirq work is 0.1 % of a busy CPU. One tick more or less says nothing,
		// since the two counters each round down to 10 ms.
		IRQTime: Share{2 * tick, 0.01},

		// [M] 22 of 360 quiet runs had any; dropping them is half of the gain above.
		StealTicks: 1,

		// [M] An undisturbed run has 8 in 0.58 s; three times that, and 10 for short runs.
		Preempted: Count{10, 42},
		// [E] Two switches and a kernel thread. At this length the count above takes as much time as
		// Foreign allows, so a program of many threads on a quiet CPU stays below it.
		PreemptionGap: 20 * time.Microsecond,

		// [D] irqaffinity and IRQ affinity masks keep every device off an isolated CPU.
		Device: Count{0, 0},
		// [M] The wake-up at go is one. Preparing the next sandbox sends some: an expedited grace
		// period interrupts every CPU, flipping a static key sends 4 (120 for 30 flips).
		IPI: Count{30, 20},
		// [D] The hard lockup detector sends one for about every 10 s of busy CPU.
		NMI: Count{2, 1},

		// [D] CONFIG_HZ is 100, 250, 300 or 1000 and not to be seen from outside (USER_HZ is always
		// 100). The largest never accuses wrongly; whoever knows better sets it.
		TickRate:  1000,
		TickSlack: 0.05,
		// [M] 0 ticks in 2 s of spinning on a nohz_full CPU. [E] A few until the tick has stopped,
		// and one a second that older kernels keep.
		NohzTicks: Count{5, 5},

		// [M] 1.55 µs is the median, 2.2 the 95th percentile undisturbed; disturbed runs pay 5 to
		// 11.7. [E] 25 µs is past any of those, and below that of a 2 MiB page's.
		// System time is sampled in ticks of up to 10 ms, hence the least amounts.
		FaultCost: FaultCost{Above: 5 * time.Microsecond, Below: 25 * time.Microsecond,
			MinFaults: 5000, MinSystem: 30 * time.Millisecond, MinRatio: 0.05},

		// [D] As devices: what they leave behind is done where they interrupted.
		SoftIRQ: Count{0, 0},
		// [E] 0.1 % and as much again for the tick, which is an interrupt too.
		IRQPressure: Share{time.Millisecond, 0.002},
		// [E] The plan is nominal where turbo is off, which the host knows, and what canaries had
		// otherwise. 0.3 % is a step that no drift of temperature makes with a fixed frequency.
		Frequency: Frequency{Plan: 0, Slack: 0.003, MinCPU: 10 * time.Millisecond},
		// [E] One takes tens to hundreds of microseconds, of every CPU. Some firmware has one a second.
		SMI: Count{0, 1},
		// [D] Sandboxes do not swap; who does keeps the disk and the memory busy.
		Swap: Count{0, 0},
		// [D] Nothing throws out pages of a run below its limit but a host that is out of memory.
		Refault: Count{0, 0},
		// [D] Only NUMA balancing does, and a run is bound to its node.
		NUMA: Count{0, 0},
		// [E] The node's own housekeeping reads some memory of other nodes.
		Remote: Volume{16 << 20, 0.01},
		// [M] A sieve took 211 ms of CPU time with an idle neighbour and 282 with one that copies memory.
		// [E] A tenth of the wall time is what daemons of the host take.
		Neighbours: Neighbours{Busy: 0.1, Cost: 0.35},
	}
	if virtual {
		// [E] What the hypervisor takes in slices too short to be seen as steal adds to a wait.
		t.Wait = Share{2 * time.Millisecond, 0.005}
		t.Foreign = t.Wait
		// [M] 110 to 230 a second by kernel threads of 15 to 20 µs each, on runs that waited less than
		// 0.5 %. Again as much time as Foreign allows.
		t.Preempted = Count{10, 250}
		// [E] Virtual devices cannot always be moved off a CPU. 10 µs each stay below 0.1 %.
		t.Device = Count{10, 50}
		t.SoftIRQ = t.Device
		// [M] The tick alone takes 17 µs, 250 times a second: 0.4 %.
		t.IRQPressure = Share{2 * time.Millisecond, 0.01}
		// [M] About 1 a second on an idle guest, hundreds beside a compiler. [E] 5 µs each, with
		// the exit, stay below 0.1 %.
		t.IPI = Count{50, 100}
	}
	return t
}
