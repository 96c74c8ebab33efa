package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestTraces leaks one object of each kind, and checks that it is found, and that nothing is found after its
// removal.
func TestTraces(t *testing.T) {
	Need(t, Root)
	users := Users{First: 1<<24 + os.Getpid()%4096*1000, Count: 1000}
	for _, tt := range []struct {
		name  string
		leave func(t *testing.T, user int) (undo func())
	}{
		{"process of user", sleeps},
		{"file of user", shared},
		{"shared memory segment of user", segment},
		{"keys of user", keys},
		{"namespace net:", network},
		{"file descriptor", pipe},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := Watch(t, users)
			undo := tt.leave(t, users.First+7)
			w.settle = 0
			found := outcomeOf(func(t testing.TB) { w.None(t) })
			undo()
			w.settle = settle
			if found.outcome != "fail" || !strings.Contains(found.text, tt.name) {
				t.Errorf("got %s with %q, want %q to be found", found.outcome, found.text, tt.name)
			}
			w.None(t)
		})
	}
}

func sleeps(t *testing.T, user int) func() {
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user)},
		Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = cmd.Process.Kill() // it only sleeps
		_ = cmd.Wait()
	}
}

func shared(t *testing.T, user int) func() {
	path := filepath.Join("/dev/shm", filepath.Base(t.TempDir()))
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, user, user); err != nil {
		t.Error(err)
	}
	return func() { os.Remove(path) }
}

func segment(t *testing.T, user int) func() {
	var id uintptr
	end := onThread(t, user, func() (errno syscall.Errno) {
		const private, create = 0, 0o1600 // IPC_PRIVATE, IPC_CREAT
		id, _, errno = syscall.RawSyscall(syscall.SYS_SHMGET, private, 4096, create)
		return errno
	})
	end()                                                              // the segment remains
	return func() { syscall.RawSyscall(syscall.SYS_SHMCTL, id, 0, 0) } // IPC_RMID
}

func keys(t *testing.T, user int) func() {
	return onThread(t, user, func() syscall.Errno {
		const join = 1 // KEYCTL_JOIN_SESSION_KEYRING
		_, _, errno := syscall.RawSyscall(syscall.SYS_KEYCTL, join, 0, 0)
		return errno
	})
}

func network(t *testing.T, _ int) func() {
	return onThread(t, 0, func() syscall.Errno {
		_, _, errno := syscall.RawSyscall(syscall.SYS_UNSHARE, syscall.CLONE_NEWNET, 0, 0)
		return errno
	})
}

func pipe(t *testing.T, _ int) func() {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return func() { r.Close(); w.Close() }
}

// onThread makes a call as a user, on a thread that then waits until end is called.
func onThread(t *testing.T, user int, call func() syscall.Errno) (end func()) {
	t.Helper()
	called, done := make(chan syscall.Errno), make(chan bool)
	onOwnThread(func() {
		_, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uintptr(user), uintptr(user), uintptr(user))
		if errno == 0 {
			errno = call()
		}
		called <- errno
		<-done
	})
	if errno := <-called; errno != 0 {
		t.Fatal(errno)
	}
	return func() { close(done) }
}

// onOwnThread runs f on a thread that exits afterwards. The first thread of the process never exits, and /proc
// shows its user for the process.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread() // never unlocked
		if syscall.Gettid() != os.Getpid() {
			f()
			return
		}
		held := make(chan bool)
		go func() {
			runtime.LockOSThread() // a second thread, while the first is locked
			close(held)
			f()
		}()
		<-held
		runtime.UnlockOSThread()
	}()
}
