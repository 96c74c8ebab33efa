package seccomp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestForeignProgram runs a program for the machine's 32-bit predecessor. The kernel may support it, but the filter
// kills all of its calls.
func TestForeignProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, foreignProgram(t), 0o755); err != nil {
		t.Fatal(err)
	}
	want := result{Exit: -1, Signal: syscall.SIGSYS}
	switch err := exec.Command(path).Run(); {
	case errors.Is(err, syscall.ENOEXEC):
		t.Log("this kernel does not run 32-bit programs")
		want = result{Exit: 254, Out: "confine: exec format error\n"}
	case err != nil:
		t.Fatalf("without a filter: %v", err)
	}
	if diff := cmp.Diff(want, runConfined(t, path)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// foreignProgram returns exit(0) as a 32-bit ELF file, written by hand because compilers for it are rarely installed.
func foreignProgram(t *testing.T) []byte {
	t.Helper()
	arch, err := NativeArch()
	if err != nil {
		t.Fatal(err)
	}
	type elf struct {
		machine uint16
		flags   uint32
		code    []uint32
	}
	program := map[Arch]elf{
		// i386: xor %eax,%eax; inc %eax; int $0x80
		AMD64: {3, 0, []uint32{0xcd40c031, 0x00000080}},
		// arm: mov r0,#0; mov r7,#1; svc 0
		ARM64: {40, 0x05000000, []uint32{0xe3a00000, 0xe3a07001, 0xef000000}},
	}[arch]
	const base, header, segment = 0x10000, 52, 32
	size := uint32(header + segment + 4*len(program.code))
	var b bytes.Buffer
	for _, part := range []any{
		[16]byte{0x7f, 'E', 'L', 'F', 1, 1, 1}, // 32 bits, little endian
		[]uint16{2, program.machine}, []uint32{1, base + header + segment, header, 0, program.flags},
		[]uint16{header, segment, 1, 40, 0, 0},
		[]uint32{1, 0, base, base, size, size, 5, 0x1000}, // PT_LOAD, read and execute
		program.code,
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
