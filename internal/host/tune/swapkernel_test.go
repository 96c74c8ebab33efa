package tune

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"judged/internal/base/units"
	"judged/internal/host/hostfs"
)

// swapSpace is state of mm/swapfile.c that /proc/swaps does not show.
type swapSpace struct {
	// paths in the format of the file, by area number, which determines their order; "" is free
	numbers []string
	before  map[string]string // path -> its line without the size and what follows
}

var swapLine = regexp.MustCompile(`^((\S+)\s+\S+\s+\d+\s+)(\d+)\s+(-?\d+)$`)

// areas returns the areas in the file tree, which a test may have written.
func (k *kernel) areas() map[string]hostfs.Swap {
	on := map[string]hostfs.Swap{}
	for line := range strings.Lines(k.get(swapsFile)) {
		if f := swapLine.FindStringSubmatch(strings.TrimSpace(line)); f != nil {
			used, _ := strconv.Atoi(f[3])
			priority, _ := strconv.Atoi(f[4])
			on[f[2]] = hostfs.Swap{Path: unescapes.Replace(f[2]), Used: units.Bytes(used) << 10, Priority: priority}
			k.swaps.before[f[2]] = f[1]
			if !slices.Contains(k.swaps.numbers, f[2]) {
				k.swaps.assign(f[2])
			}
		}
	}
	for i, name := range k.swaps.numbers {
		if _, ok := on[name]; !ok {
			k.swaps.numbers[i] = ""
		}
	}
	return on
}

// assign gives the first free number to an area.
func (s *swapSpace) assign(name string) {
	if i := slices.Index(s.numbers, ""); i >= 0 {
		s.numbers[i] = name
		return
	}
	s.numbers = append(s.numbers, name)
}

func (k *kernel) show(on map[string]hostfs.Swap) {
	text, _, _ := strings.Cut(k.get(swapsFile), "\n")
	for _, name := range k.swaps.numbers {
		if a, ok := on[name]; ok {
			text += fmt.Sprintf("\n%s%d\t\t%d", k.swaps.before[name], a.Used>>10, a.Priority)
		}
	}
	k.put(swapsFile, text)
}

var (
	escapes   = strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`)
	unescapes = strings.NewReplacer(`\134`, `\`, `\040`, " ", `\011`, "\t", `\012`, "\n")
)

// SwapOff raises the ranks of the areas below.
func (k *kernel) SwapOff(file string) error {
	k.step()
	on, name := k.areas(), escapes.Replace(file)
	off, ok := on[name]
	switch {
	case k.refuse[file] != nil:
		return &fs.PathError{Op: "swapoff", Path: file, Err: k.refuse[file]}
	case !ok:
		return &fs.PathError{Op: "swapoff", Path: file, Err: fs.ErrNotExist}
	}
	delete(on, name)
	for other, a := range on {
		if off.Priority < 0 && a.Priority < off.Priority {
			a.Priority++
			on[other] = a
		}
	}
	k.swaps.numbers[slices.Index(k.swaps.numbers, name)] = ""
	k.show(on)
	return nil
}

func (k *kernel) SwapOn(file string, priority int) error {
	k.step()
	on, name := k.areas(), escapes.Replace(file)
	_, busy := on[name]
	switch {
	case k.refuse[file] != nil:
		return &fs.PathError{Op: "swapon", Path: file, Err: k.refuse[file]}
	case busy:
		return &fs.PathError{Op: "swapon", Path: file, Err: syscall.EBUSY}
	}
	if priority < 0 {
		priority = -1
		for _, a := range on {
			priority = min(priority, a.Priority)
		}
		priority--
	}
	k.swaps.assign(name)
	on[name] = hostfs.Swap{Path: file, Priority: priority}
	k.show(on)
	return nil
}
