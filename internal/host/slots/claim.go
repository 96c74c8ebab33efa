package slots

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"judged/internal/base/cpuset"
	"judged/internal/base/linux"
)

// Holder describes the judged process that has claimed a CPU, for the next one that claims it.
type Holder struct {
	Command      string    `json:"command"` // with its arguments
	PID          int       `json:"pid"`
	PIDNamespace string    `json:"pid_namespace"`
	HostName     string    `json:"host_name"` // in a container, its id or name
	Since        time.Time `json:"since"`
}

// self returns the Holder for the calling process.
func self(command string) (Holder, error) {
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return Holder{}, err
	}
	name, err := os.Hostname()
	return Holder{Command: command, PID: os.Getpid(), PIDNamespace: namespace, HostName: name,
		Since: time.Now().Truncate(time.Second)}, err
}

// where describes where the process runs, for a reader who may be in another container.
func (h Holder) where() string {
	if namespace, err := os.Readlink("/proc/self/ns/pid"); err == nil && namespace == h.PIDNamespace {
		return fmt.Sprintf("process %d", h.PID)
	}
	return fmt.Sprintf("process %d of another container or PID namespace, with host name %q", h.PID, h.HostName)
}

// TakenError reports that another judged process has claimed a CPU.
type TakenError struct {
	CPU    int
	Holder Holder // zero value if unknown
}

func (e *TakenError) Error() string {
	holder := "another judged"
	if h := e.Holder; h.PID != 0 {
		holder = fmt.Sprintf("%s (%s, since %s)", h.Command, h.where(), h.Since.Format(time.DateTime))
	}
	return fmt.Sprintf("claim CPU %d: %s uses it, and each would disturb the other; stop that one, or name other CPUs "+
		"with --cpu-list or slots.cpu_list",
		e.CPU, holder)
}

// Claim prevents other judged processes on the machine from using the claimed CPUs until it is closed or its
// process ends.
type Claim struct {
	// Confined is not nil if only judged processes that share this process's /run notice the claim. It says
	// why.
	Confined error

	files []*os.File
}

const (
	// claimFolder is at the root of devtmpfs, the only writable file system that all mount, PID, cgroup and
	// network namespaces of a kernel share. cgroup v2 is shared too, but a container sees only its own part.
	claimFolder = ".judged"
	// confinedFolder is used if the kernel has no devtmpfs or a security module forbids its use.
	confinedFolder = "/run/judged/cpus"

	maxHolderBytes = 4 << 10
)

// ClaimCPUs claims CPUs for the calling process. The error is a *TakenError if another judged process has one
// of them. The folder has one file per CPU. "" means the folder shared by all judged processes of the machine;
// other folders are for tests that use the same CPUs concurrently.
func ClaimCPUs(folder string, cpus cpuset.Set, command string) (*Claim, error) {
	c := &Claim{}
	if folder != "" {
		return c, c.claimAll(folder, cpus, command)
	}
	devices, err := linux.DetachedDevices()
	if err != nil {
		c.Confined = err
		return c, c.claimAll(confinedFolder, cpus, command)
	}
	defer devices.Close() // the open files keep the mount
	return c, c.claimAll(fmt.Sprintf("/proc/self/fd/%d/%s", devices.Fd(), claimFolder), cpus, command)
}

// claimAll claims all CPUs or none.
func (c *Claim) claimAll(folder string, cpus cpuset.Set, command string) error {
	h, err := self(command)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return fmt.Errorf("claim CPU %s: %w", cpus, err)
	}
	for _, id := range cpus {
		if err := c.claimOne(filepath.Join(folder, fmt.Sprintf("cpu%d", id)), id, h); err != nil {
			return errors.Join(err, c.Close())
		}
	}
	return nil
}

func (c *Claim) claimOne(file string, id int, h Holder) error {
	f, err := linux.LockFile(file)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return &TakenError{id, holderOf(file)}
	}
	if err != nil {
		return fmt.Errorf("claim CPU %d: %w", id, err)
	}
	c.files = append(c.files, f)
	text, err := json.Marshal(h)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(text, 0)
	}
	if err != nil {
		return fmt.Errorf("claim CPU %d: %w", id, err)
	}
	return nil
}

// holderOf returns the holder of a CPU. It waits briefly if the holder has the lock but has not written its
// name yet.
func holderOf(file string) (h Holder) {
	for range 20 {
		f, err := os.Open(file)
		if err != nil {
			return Holder{}
		}
		text, err := io.ReadAll(io.LimitReader(f, maxHolderBytes))
		f.Close()
		if err == nil && json.Unmarshal(text, &h) == nil {
			h.Command = strings.ToValidUTF8(h.Command, "?")
			return h
		}
		time.Sleep(10 * time.Millisecond)
	}
	return Holder{}
}

// Close releases the CPUs.
func (c *Claim) Close() error {
	var errs []error
	for _, f := range c.files {
		// The next holder must not be reported under this holder's name.
		errs = append(errs, f.Truncate(0), f.Close())
	}
	c.files = nil
	return errors.Join(errs...)
}
