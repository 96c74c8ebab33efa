package testkit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"judged/internal/host/hostfs"
)

// family is this process and its children.
type family struct {
	label string // its name in an inventory, "" for this process
	proc  string // its folder in /proc
}

var inode = regexp.MustCompile(`\[[0-9]+\]$`)

// addFiles counts the descriptors for each target, without the numbers of pipes and sockets, because one may
// replace another.
func (inv inventory) addFiles(of family) error {
	dir := of.proc + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return of.gone(fmt.Errorf("list open files: %w", err))
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // the descriptor that listed the folder, closed by now
		}
		key := of.label + "file descriptor: " + inode.ReplaceAllString(target, "")
		inv.add(key, fmt.Sprintf("%sfile descriptor %s: %s", of.label, e.Name(), target))
	}
	return nil
}

// gone ignores errors for a child, which may have exited.
func (of family) gone(err error) error {
	if of.label == "" {
		return err
	}
	return nil
}

// add adds an item. Several items may have the same key.
func (inv inventory) add(key, what string) {
	unique := key
	for n := 2; inv[unique] != ""; n++ {
		unique = fmt.Sprintf("%s, number %d", key, n)
	}
	inv[unique] = what
}

// addChildren scans /proc, because the children file of a task exists only on kernels with
// CONFIG_PROC_CHILDREN. A child is identified by its name and not its pid, so that one may replace another; the
// oldest comes first.
func (inv inventory) addChildren() ([]family, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []hostfs.Stat
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has exited since
		}
		p, err := hostfs.ParseStat(string(text))
		if err != nil || p.PPID != os.Getpid() {
			continue
		}
		found = append(found, p)
	}
	slices.SortFunc(found, func(a, b hostfs.Stat) int {
		return cmp.Or(len(a.Start)-len(b.Start), strings.Compare(a.Start, b.Start), a.PID-b.PID)
	})
	var children []family
	for _, p := range found {
		key := "child process " + p.Name
		if p.State == "Z" {
			key += ", a zombie"
		}
		for n := 2; inv[key] != ""; n++ {
			key = fmt.Sprintf("child process %s, number %d", p.Name, n)
		}
		inv[key] = fmt.Sprintf("child process %d: %s, state %s", p.PID, p.Name, p.State)
		children = append(children, family{label: key + ": ", proc: fmt.Sprintf("/proc/%d", p.PID)})
	}
	return children, nil
}

// addNamespaces adds the namespaces that a thread or a child is in, or would put its children in.
func (inv inventory) addNamespaces(of family) error {
	links, err := filepath.Glob(of.proc + "/task/[0-9]*/ns/*")
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil {
			inv["namespace "+target] = "namespace " + target
		}
	}
	return nil
}

// addSockets adds all sockets in the network namespace of a child.
func (inv inventory) addSockets(of family) error {
	own, _ := os.Readlink("/proc/self/ns/net") // always there
	its, err := os.Readlink(of.proc + "/ns/net")
	if err != nil || its == own {
		return of.gone(err)
	}
	for _, table := range []string{"unix", "tcp", "tcp6", "udp", "udp6", "raw", "packet", "netlink"} {
		text, err := os.ReadFile(of.proc + "/net/" + table)
		if err != nil {
			continue // not supported by this kernel
		}
		for n, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			if n > 0 {
				what := fmt.Sprintf("%ssocket in its network: %s %s", of.label, table, line)
				inv.add(what, what)
			}
		}
	}
	return nil
}

// addCgroups finds the control groups of judged processes, whose names contain the PID.
func (inv inventory) addCgroups(pids []int) error {
	all, err := mounts("/proc/self")
	if err != nil {
		return err
	}
	own := func(path string) bool {
		return slices.ContainsFunc(pids, func(pid int) bool {
			return strings.Contains(path, fmt.Sprintf("/judged-%d-", pid))
		})
	}
	for _, m := range all {
		if m.FSType != "cgroup" && m.FSType != "cgroup2" {
			continue
		}
		err := filepath.WalkDir(m.Point, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil && d != nil && d.IsDir():
				return filepath.SkipDir // removed or inaccessible
			case err != nil:
				return nil
			case d.IsDir() && own(path):
				inv[path] = "cgroup " + path
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("list cgroups below %s: %w", m.Point, err)
		}
	}
	return nil
}

var namedByProcess = regexp.MustCompile(`judged-([0-9]+)-`)

func (inv inventory) addMounts() error {
	all, err := mounts("/proc/self")
	if err != nil {
		return err
	}
	for _, m := range all {
		if text := m.Point + " " + m.Source + " " + m.Root; strings.Contains(text, "judged") && !ofAnother(text) {
			inv["mount "+m.ID] = fmt.Sprintf("mount of %s (%s) on %s", m.Source, m.FSType, m.Point)
		}
	}
	return nil
}

// addMountsOf adds the mounts in a child's own mount namespace.
func (inv inventory) addMountsOf(child family) {
	own, _ := os.Readlink("/proc/self/ns/mnt") // always there
	if its, err := os.Readlink(child.proc + "/ns/mnt"); err != nil || its == own {
		return
	}
	all, _ := mounts(child.proc) // an error means that it has exited since
	for _, m := range all {
		what := fmt.Sprintf("%smount of %s (%s) on %s", child.label, m.Source, m.FSType, m.Point)
		inv.add(what, what)
	}
}

// ofAnother reports whether text contains judged-<pid>- with the pid of another live process, because test
// binaries of several packages run concurrently.
func ofAnother(text string) bool {
	found := namedByProcess.FindStringSubmatch(text)
	if found == nil || found[1] == strconv.Itoa(os.Getpid()) {
		return false
	}
	_, err := os.Stat("/proc/" + found[1])
	return err == nil
}
