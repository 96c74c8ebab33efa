package seccomp

import "fmt"

// data is the kernel's struct seccomp_data without the instruction pointer.
type data struct {
	arch Arch
	nr   uint32
	args [6]uint64
}

// outcome is the result of one run of a filter, and whether it read an argument. If it did, the kernel cannot
// keep the call in its bitmap.
type outcome struct {
	action   Action
	readArgs bool
}

// run interprets a filter as the kernel does, with the checks that the kernel makes when it loads one.
func run(f Filter, d data) (outcome, error) {
	var acc uint32
	var out outcome
	for pc := 0; pc < len(f); pc++ {
		i := f[pc]
		jump := func(holds bool) {
			if holds {
				pc += int(i.JT)
			} else {
				pc += int(i.JF)
			}
		}
		switch i.Code {
		case opLoad:
			word, err := d.word(i.K)
			if err != nil {
				return out, err
			}
			acc = word
			out.readArgs = out.readArgs || i.K >= offArgs
		case opJump:
			pc += int(i.K)
		case opEqual:
			jump(acc == i.K)
		case opFrom:
			jump(acc >= i.K)
		case opBits:
			jump(acc&i.K != 0)
		case opRet:
			out.action = Action(i.K)
			return out, nil
		default:
			return out, fmt.Errorf("instruction %d has code %#x", pc, i.Code)
		}
	}
	return out, fmt.Errorf("ran past the end of %d instructions", len(f))
}

func (d data) word(offset uint32) (uint32, error) {
	switch {
	case offset == offNumber:
		return d.nr, nil
	case offset == offArch:
		return uint32(d.arch), nil
	case offset >= offArgs && offset < offArgs+48 && offset%4 == 0:
		arg := d.args[(offset-offArgs)/8]
		if offset%8 == 4 {
			arg >>= 32
		}
		return uint32(arg), nil
	}
	return 0, fmt.Errorf("load at offset %d", offset)
}
