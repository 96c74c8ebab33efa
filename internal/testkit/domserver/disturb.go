package domserver

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
)

// Disturber makes requests of judgehosts fail at random: one in fifty, alone or with some that follow. A call fails once
// all its tries have failed.
type Disturber struct {
	mu       sync.Mutex // guards the fields below
	random   *rand.Rand
	row      int // the most requests that are disturbed in a row
	requests int
	left     int // number of requests that the current fault still disturbs
	fault    Fault
	lost     map[string]int // disturbed results, by task: the server may have them
}

// NewDisturber returns a disturber of at most row requests in a row.
func NewDisturber(source rand.Source, row int) *Disturber {
	return &Disturber{random: rand.New(source), row: row, lost: map[string]int{}}
}

// Disturb returns the fault for a request, or nil. It is for Server.Fault.
func (d *Disturber) Disturb(_, path string) *Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests++
	if d.left--; d.left < 0 {
		if d.random.IntN(50) > 0 {
			return nil
		}
		faults := []Fault{{Status: 500}, {Status: 504, Body: "<html>", Handle: true}, {CutBefore: true},
			{CutBefore: true, Handle: true}, {Truncate: 1}}
		d.fault, d.left = faults[d.random.IntN(len(faults))], d.random.IntN(d.row)
	}
	if at := strings.LastIndexByte(path, '/'); strings.HasPrefix(path, "judgehosts/add-judging-run/") {
		d.lost[path[at+1:]]++
	}
	return new(d.fault)
}

// Requests returns the number of requests so far.
func (d *Disturber) Requests() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requests
}

// Lost returns how many results of a task were disturbed. The server may have more than one result for such a task.
func (d *Disturber) Lost(task int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost[fmt.Sprint(task)]
}
