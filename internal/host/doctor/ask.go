package doctor

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// The names under which a capture keeps what no file of the host holds as text.
const (
	adjtimexAnswer = "/judged/adjtimex" // adjtimex(2)
	smiAnswer      = "/judged/msr-0x34" // MSR_SMI_COUNT, from /dev/cpu/N/msr
	perfAnswer     = "/judged/perf"     // how many links of /proc/self/fd are perf events
)

// mustAsk is must for an answer that comes from a system call; the report names its source.
func (v *view) mustAsk(name, source string, live func() ([]byte, error)) string {
	v.saw(source)
	b, err := v.FS.Ask(name, live)
	if err != nil {
		v.refuse(source, err)
	}
	return strings.TrimSpace(string(b))
}

func adjtimex() ([]byte, error) {
	var t syscall.Timex // no mode is set, so nothing is changed
	if _, err := syscall.Adjtimex(&t); err != nil {
		return nil, os.NewSyscallError("adjtimex", err)
	}
	return fmt.Appendf(nil, "freq %d tick %d status %d\n", t.Freq, t.Tick, t.Status), nil
}

func countPerf() ([]byte, error) {
	const dir = "/proc/self/fd"
	fds, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	held := 0
	for _, fd := range fds {
		if target, err := os.Readlink(dir + "/" + fd.Name()); err == nil && target == "anon_inode:[perf_event]" {
			held++
		}
	}
	return strconv.AppendInt(nil, int64(held), 10), nil
}

// readSMI reads 8 bytes at the number of the register, which is how the msr driver is addressed.
func readSMI(cpu int) ([]byte, error) {
	f, err := os.Open(fmt.Sprintf("/dev/cpu/%d/msr", cpu))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b [8]byte
	if _, err := f.ReadAt(b[:], 0x34); err != nil {
		return nil, err
	}
	// The upper half of the register is reserved.
	return strconv.AppendUint(nil, uint64(binary.LittleEndian.Uint32(b[:4])), 10), nil
}
