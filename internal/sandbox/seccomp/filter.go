package seccomp

// Instruction is one instruction of classic BPF in the memory layout of the
// kernel's struct sock_filter (8 bytes).
type Instruction struct {
	Code   uint16
	JT, JF uint8 // instructions to skip if the test is true, and if it is false
	K      uint32
}

// Filter is a program for seccomp(2): len(f) and &f[0] are the two fields of struct sock_fprog.
type Filter []Instruction

// maxInstructions is the kernel's BPF_MAXINSNS.
const maxInstructions = 4096

// The instructions that filters use. Since 5.11 the kernel evaluates a filter for every number when it is loaded: a
// number for which it returns Allow and reads nothing but number and architecture goes into a bitmap, and its calls
// skip the filter. The evaluation supports only these instructions.
const (
	opLoad  = 0x20 // BPF_LD | BPF_W | BPF_ABS
	opJump  = 0x05 // BPF_JMP | BPF_JA
	opEqual = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	opFrom  = 0x35 // BPF_JMP | BPF_JGE | BPF_K
	opBits  = 0x45 // BPF_JMP | BPF_JSET | BPF_K
	opRet   = 0x06 // BPF_RET | BPF_K
)

// Offsets in struct seccomp_data.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16 // six arguments of 8 bytes; the low half comes first, both architectures being little-endian
)

// maxSkip is one less than an 8-bit offset can hold: making one target of a test reachable may move the other
// one away by one instruction.
const maxSkip = 254

// assembler emits a program from its end to its start, because jumps only go forward: every target is known before a
// jump to it. Positions count from the end of the program; the last instruction emitted executes first.
type assembler struct {
	reversed Filter
	rets     map[Action]int
}

func (a *assembler) emit(i Instruction) int {
	a.reversed = append(a.reversed, i)
	return len(a.reversed) - 1
}

// skip returns the number of instructions that the next emitted one must skip to reach target.
func (a *assembler) skip(target int) int { return len(a.reversed) - target - 1 }

// ret returns the position of a return with this action that a jump can reach.
func (a *assembler) ret(action Action) int {
	if at, ok := a.rets[action]; ok && a.skip(at) <= maxSkip {
		return at
	}
	at := a.emit(Instruction{Code: opRet, K: uint32(action)})
	a.rets[action] = at
	return at
}

// test emits a test that continues at yes or at no.
func (a *assembler) test(op uint16, k uint32, yes, no int) int {
	yes, no = a.near(yes), a.near(no)
	return a.emit(Instruction{Code: op, JT: uint8(a.skip(yes)), JF: uint8(a.skip(no)), K: k})
}

func (a *assembler) near(target int) int {
	if a.skip(target) <= maxSkip {
		return target
	}
	return a.emit(Instruction{Code: opJump, K: uint32(a.skip(target))})
}

// load emits a load of a word of struct seccomp_data, and continues at target.
func (a *assembler) load(offset uint32, target int) int {
	if a.skip(target) != 0 {
		a.emit(Instruction{Code: opJump, K: uint32(a.skip(target))})
	}
	return a.emit(Instruction{Code: opLoad, K: offset})
}
