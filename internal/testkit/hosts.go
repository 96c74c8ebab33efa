package testkit

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing/fstest"
)

// Host reads a machine of testdata/hosts: NAME.txtar, given as a path without it. The text before
// the first file is the note that says where the machine is from. "-- path --" starts a file, and
// cpu{0-3,7} in a path stands for each of these numbers; {} in such a file for the number itself. A
// file called "tasks" describes threads, one a line, of which /proc/PID/stat and status are made:
//
//	PID[/TID] PPID kernel|user CPUS LAST_CPU [rt] NAME
//
// A later file replaces an earlier one of the same path, "-- path missing --" removes it, and
// "-- path unreadable --" makes one that only root could read.
func Host(file string) (tree fstest.MapFS, note string, err error) {
	text, err := os.ReadFile(file + ".txtar")
	if err != nil {
		return nil, "", err
	}
	tree = fstest.MapFS{}
	note, rest, _ := strings.Cut("\n"+string(text), "\n-- ")
	for _, part := range strings.Split(rest, "\n-- ") {
		head, body, _ := strings.Cut(part, "\n")
		head, ok := strings.CutSuffix(head, " --")
		if !ok {
			return nil, "", fmt.Errorf("%s: heading %q does not end in --", file, head)
		}
		if err := addHostFile(tree, head, body); err != nil {
			return nil, "", fmt.Errorf("%s: %w", file, err)
		}
	}
	return tree, strings.TrimSpace(note), nil
}

func addHostFile(tree fstest.MapFS, head, body string) error {
	if head == "tasks" {
		return addTasks(tree, body)
	}
	name, what, _ := strings.Cut(head, " ")
	paths, numbers, err := spread(name)
	if err != nil {
		return err
	}
	for i, p := range paths {
		switch what {
		case "missing":
			delete(tree, p)
		case "unreadable":
			tree[p] = &fstest.MapFile{}
		case "directory":
			tree[p] = &fstest.MapFile{Mode: fs.ModeDir | 0o555}
		default:
			content := strings.TrimRight(strings.ReplaceAll(body, "{}", numbers[i]), "\n") + "\n"
			tree[p] = &fstest.MapFile{Data: []byte(content), Mode: 0o444}
		}
	}
	return nil
}

// spread expands the first braces of a path.
func spread(name string) (paths, numbers []string, err error) {
	before, rest, found := strings.Cut(name, "{")
	list, after, closed := strings.Cut(rest, "}")
	if !found || !closed {
		return []string{name}, []string{""}, nil
	}
	for part := range strings.SplitSeq(list, ",") {
		first, last, span := strings.Cut(part, "-")
		if !span {
			last = first
		}
		from, err := strconv.Atoi(first)
		if err != nil {
			return nil, nil, fmt.Errorf("path %q: %w", name, err)
		}
		to, err := strconv.Atoi(last)
		if err != nil {
			return nil, nil, fmt.Errorf("path %q: %w", name, err)
		}
		for n := from; n <= to; n++ {
			paths = append(paths, before+strconv.Itoa(n)+after)
			numbers = append(numbers, strconv.Itoa(n))
		}
	}
	return paths, numbers, nil
}

// addTasks generates /proc/PID/stat with the fields of proc(5) that identify a thread and its CPUs: 9 flags
// (PF_KTHREAD), 20 threads, 39 last CPU, 41 policy (1 is SCHED_FIFO).
func addTasks(tree fstest.MapFS, body string) error {
	threads := map[string]int{}
	lines := strings.FieldsFunc(body, func(r rune) bool { return r == '\n' })
	for _, line := range lines {
		pid, _, _ := strings.Cut(strings.Fields(line)[0], "/")
		threads[pid]++
	}
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) < 6 {
			return fmt.Errorf("task %q: want PID PPID kernel|user CPUS LAST_CPU NAME", line)
		}
		flags, policy, name := "4194304", "0", f[5:]
		if f[2] == "kernel" {
			flags = "2129984"
			if _, err := strconv.Atoi(f[3]); err == nil {
				flags = "69238848" // a thread that belongs to a CPU is bound to it: PF_NO_SETAFFINITY
			}
		}
		if f[5] == "rt" {
			policy, name = "1", f[6:]
		}
		pid, tid, thread := strings.Cut(f[0], "/")
		dir := "proc/" + pid
		if thread {
			dir += "/task/" + tid
		}
		stat := fmt.Sprintf("%s (%s) S %s 0 0 0 -1 %s 0 0 0 0 0 0 0 0 20 0 %d 0 24 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 %s "+
			"0 %s\n",
			pid, strings.Join(name, " "), f[1], flags, threads[pid], f[4], policy)
		tree[dir+"/stat"] = &fstest.MapFile{Data: []byte(stat), Mode: 0o444}
		tree[dir+"/status"] = &fstest.MapFile{Data: []byte("Cpus_allowed_list:\t" + f[3] + "\n"), Mode: 0o444}
	}
	return nil
}
