package initproc

import (
	"errors"
	"os"
	"runtime"

	"judged/internal/base/linux"
)

// Amount of work of the operating system kernels: a twentieth of a second each.
const (
	faultRounds    = 2
	faultBytes     = 32 << 20
	syscalls       = 600_000
	pingPongRounds = 10_000
)

// pageFaultKernel maps memory, touches every page of it and unmaps it.
func pageFaultKernel() kernel {
	touched := 0
	page := os.Getpagesize()
	return kernel{
		work: func() {
			for range faultRounds {
				m, err := linux.Map(faultBytes)
				if err != nil {
					return
				}
				for i := 0; i < len(m); i += page {
					m[i] = 1 // a read before the write would cause a second fault
					touched += int(m[i])
				}
				if linux.Unmap(m) != nil {
					return
				}
			}
		},
		ok: func() bool { return touched == faultRounds*faultBytes/page },
	}
}

// syscallKernel calls getppid, for which the kernel does little more than enter and leave.
func syscallKernel() kernel {
	parent, same := os.Getppid(), 0
	return kernel{
		work: func() {
			for range syscalls {
				if os.Getppid() == parent {
					same++
				}
			}
		},
		ok: func() bool { return same == syscalls },
	}
}

// pingPongKernel passes a word back and forth between two threads that sleep in between. Only its wall time is
// meaningful.
func pingPongKernel() (kernel, error) {
	// With GOMAXPROCS=1 the runtime takes up to 10 ms to notice that a thread waits.
	if runtime.GOMAXPROCS(0) < 2 {
		return kernel{}, errors.New("ping-pong: needs two CPUs")
	}
	const mine, yours = 0, 1
	word, pings, pongs := new(uint32), 0, 0
	ready, done := make(chan bool), make(chan bool)
	go func() {
		runtime.LockOSThread()
		close(ready)
		for range pingPongRounds {
			linux.FutexWait(word, mine)
			pongs++
			linux.FutexWake(word, mine)
		}
		close(done)
	}()
	<-ready
	return kernel{
		work: func() {
			for range pingPongRounds {
				pings++
				linux.FutexWake(word, yours)
				linux.FutexWait(word, yours)
			}
		},
		ok: func() bool {
			<-done
			return pings == pingPongRounds && pongs == pingPongRounds
		},
	}, nil
}
