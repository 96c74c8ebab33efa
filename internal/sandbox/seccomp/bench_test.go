package seccomp

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// onOwnThread runs f on a thread that exits afterwards, together with the filters that it has loaded. It fails the
// benchmark with f's error.
func onOwnThread(b *testing.B, f func() error) {
	b.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the runtime ends the thread
		done <- f()
	}()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSystemCall measures a call with and without the filter, interleaved; the difference is the cost of
// the filter.
func BenchmarkSystemCall(b *testing.B) {
	calls := []struct {
		name string
		nr   uintptr
		arg  uintptr
	}{
		{"getppid", syscall.SYS_GETPPID, 0},
		{"fcntl", syscall.SYS_FCNTL, getFD}, // its argument is tested
	}
	for _, call := range calls {
		for _, filtered := range []bool{false, true} {
			name := call.name + "/bare"
			if filtered {
				name = call.name + "/filtered"
			}
			b.Run(name, func(b *testing.B) {
				onOwnThread(b, func() error {
					if filtered {
						if err := load(); err != nil {
							return err
						}
					}
					b.ResetTimer()
					for range b.N {
						syscall.RawSyscall(call.nr, 0, call.arg, 0)
					}
					return nil
				})
			})
		}
	}
}

// BenchmarkInstall reports ns/install. Each is on a new thread, because filters accumulate and the kernel limits
// their total length.
func BenchmarkInstall(b *testing.B) {
	arch, err := NativeArch()
	if err != nil {
		b.Fatal(err)
	}
	filter, err := Build(arch, Default())
	if err != nil {
		b.Fatal(err)
	}
	var total time.Duration
	for range b.N {
		onOwnThread(b, func() error {
			start := time.Now()
			err := install(arch, filter)
			total += time.Since(start)
			return err
		})
	}
	b.ReportMetric(float64(total.Nanoseconds())/float64(b.N), "ns/install")
	b.ReportMetric(float64(len(filter)), "instructions")
}

func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		if _, err := Build(AMD64, Default()); err != nil {
			b.Fatal(err)
		}
	}
}
