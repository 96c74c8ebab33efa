package judge_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"judged/internal/base/cpuset"
	"judged/internal/engine"
	"judged/internal/testkit/attacks"
)

// host holds the targets of attacks: objects of this machine that no run may
// reach, and snapshots of others.
type host struct {
	canary    string // a file that everybody may read: only the sandbox's tree hides it
	bystander *exec.Cmd
	listeners map[string]int // listening sockets that nobody may connect to, by kind
	accepted  []string       // kinds that had a connection
	port      int            // port of the listeners on TCP and vsock
	abstract  string         // name of the listener on an abstract unix socket
	online    cpuset.Set
}

const canaryText = attacks.Canary + "\n"

// bystanderName is the name of a process that only waits; TestMain implements it.
const bystanderName = "bystander"

func newHost(t *testing.T, eng *engine.Engine) *host {
	t.Helper()
	dir, err := os.MkdirTemp("", fmt.Sprintf("judged-attacks-%d-", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	h := &host{canary: filepath.Join(dir, "canary"), listeners: map[string]int{}, online: eng.Topology().Online,
		abstract: fmt.Sprintf("judged-attacks-%d", os.Getpid())}
	h.writeCanary(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	h.bystander = startBystander(t, nil)
	h.listen(t)
	return h
}

// startBystander starts a bystander, of another user if requested. It exits with the test process, even if that is
// killed, because its input ends.
func startBystander(t *testing.T, user *syscall.Credential) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{bystanderName}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func killBystander(cmd *exec.Cmd) error {
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	_ = cmd.Wait() // it was killed
	return nil
}

func (h *host) writeCanary(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(h.canary, []byte(canaryText), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(h.canary, 0o666); err != nil {
		t.Fatal(err)
	}
}

func (h *host) listen(t *testing.T) {
	t.Helper()
	listen := func(kind string, family int, address unix.Sockaddr) int {
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err == nil {
			err = unix.Bind(fd, address)
		}
		if err == nil {
			err = unix.Listen(fd, 16)
		}
		if err != nil {
			t.Fatalf("listen on %s: %v", kind, err)
		}
		h.listeners[kind] = fd
		return fd
	}
	tcp := listen("tcp", unix.AF_INET, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	name, err := unix.Getsockname(tcp)
	if err != nil {
		t.Fatal(err)
	}
	h.port = name.(*unix.SockaddrInet4).Port
	listen("abstract", unix.AF_UNIX, &unix.SockaddrUnix{Name: "@" + h.abstract})
	// A kernel without vsock cannot be attacked through it.
	if fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
		unix.Close(fd)
		listen("vsock", unix.AF_VSOCK, &unix.SockaddrVM{CID: unix.VMADDR_CID_ANY, Port: uint32(h.port)})
	}
}

func (h *host) close(t *testing.T) {
	t.Helper()
	for _, fd := range h.listeners {
		unix.Close(fd)
	}
	if err := killBystander(h.bystander); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(filepath.Dir(h.canary)); err != nil {
		t.Error(err)
	}
}

// names returns a replacer for the names of host objects in the arguments of attacks.
func (h *host) names(slot cpuset.Set) *strings.Replacer {
	return strings.NewReplacer("{canary}", h.canary, "{port}", strconv.Itoa(h.port), "{abstract}", h.abstract,
		"{hostpid}", strconv.Itoa(h.bystander.Process.Pid), "{cpu}", strconv.Itoa(h.online.Minus(slot)[0]))
}

func (h *host) lookAtCanary(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(h.canary)
	if err != nil {
		return err.Error()
	}
	entries, err := os.ReadDir(filepath.Dir(h.canary))
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(h.canary, &st); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%q mode %o uid %d links %d among %d", text, st.Mode, st.Uid, st.Nlink, len(entries))
}

func (h *host) lookAtBystander(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.bystander.Process.Pid))
	if err != nil {
		return err.Error()
	}
	p := fields(text)
	state := "there"
	if strings.Contains("TtZX", p["State"][:1]) {
		state = p["State"]
	}
	return fmt.Sprintf("%s, traced by %s, user %s, CPUs %s", state, p["TracerPid"], p["Uid"], p["Cpus_allowed_list"])
}

// connections returns the connections that have been made so far.
func (h *host) connections() []string {
	for kind, listener := range h.listeners {
		fd, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
		if err == nil {
			unix.Close(fd)
			h.accepted = append(h.accepted, kind)
		}
	}
	slices.Sort(h.accepted)
	return slices.Clone(h.accepted)
}

// restore restores the host after an attack that got through.
func (h *host) restore(t *testing.T) {
	t.Helper()
	for _, path := range filesOfRuns(t) {
		if err := os.RemoveAll(path); err != nil {
			t.Error(err)
		}
	}
	for _, line := range ipcOfRuns(t) {
		removeIPC(t, line)
	}
	dir := filepath.Dir(h.canary)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Error(err)
		}
	}
	h.writeCanary(t)
	h.accepted = nil
}

func removeIPC(t *testing.T, line string) {
	t.Helper()
	call := map[string]uintptr{"shm:": unix.SYS_SHMCTL, "sem:": unix.SYS_SEMCTL, "msg:": unix.SYS_MSGCTL}
	var kind string
	var key, id, semNumber uintptr
	if _, err := fmt.Sscan(line, &kind, &key, &id); err != nil {
		t.Fatal(err)
	}
	args := [3]uintptr{id, unix.IPC_RMID, 0}
	if kind == "sem:" {
		args = [3]uintptr{id, semNumber, unix.IPC_RMID}
	}
	if _, _, errno := unix.Syscall(call[kind], args[0], args[1], args[2]); errno != 0 {
		t.Errorf("remove %s: %v", line, errno)
	}
}
