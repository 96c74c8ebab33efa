package initproc

import (
	"errors"
	"os"
	"runtime"

	"judged/internal/base/linux"
)

// How much the kernels of the operating system do: a twentieth of a second each.
const (
	faultRounds    = 2
	faultBytes     = 32 << 20
	syscalls       = 600_000
	pingPongRounds = 10_000
)

// pageFaultKernel touches every page of memory that it has just got, and gives it
// back.
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
					m[i] = 1 // to read first would be two faults
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

// syscallKernel asks for the parent's number: the kernel does nothing for it but
// be entered.
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

// pingPongKernel hands a word to and fro between two threads that sleep in
// between: only its wall time says something.
func pingPongKernel() (kernel, error) {
	// With one, the runtime notices after up to 10 ms that a thread waits.
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
