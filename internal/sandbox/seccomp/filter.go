package seccomp

// Instruction is one instruction of classic BPF in the memory layout of the
// kernel's struct sock_filter (8 bytes).
type Instruction struct {
	Code   uint16
	JT, JF uint8 // instructions to skip when the test holds, and when it does not
	K      uint32
}

// Filter is a program as seccomp(2) takes it: len(f) and &f[0] are the two
// fields of struct sock_fprog.
type Filter []Instruction

// maxInstructions is the kernel's BPF_MAXINSNS.
const maxInstructions = 4096

// The instructions that both filters and the kernel's own evaluation of them use.
// Since 5.11 the kernel runs a filter once for every number when it is loaded; what
// returns Allow without reading anything but number and architecture goes into a
// bitmap and costs no run of the filter later. It gives up on any other instruction.
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

// maxSkip is one less than an 8-bit offset can hold: making one target of a
// test reachable may push the other away by one instruction.
const maxSkip = 254

// assembler writes a program from its end to its start, because jumps only go
// forward and so every target is known when it is jumped to. A position counts
// from the end of the program; the last one written is the next to execute.
type assembler struct {
	reversed Filter
	rets     map[Action]int
}

func (a *assembler) emit(i Instruction) int {
	a.reversed = append(a.reversed, i)
	return len(a.reversed) - 1
}

// skip is how many instructions the next one written has to skip to reach target.
func (a *assembler) skip(target int) int { return len(a.reversed) - target - 1 }

// ret is a return with this action that is near enough to jump to.
func (a *assembler) ret(action Action) int {
	if at, ok := a.rets[action]; ok && a.skip(at) <= maxSkip {
		return at
	}
	at := a.emit(Instruction{Code: opRet, K: uint32(action)})
	a.rets[action] = at
	return at
}

// test continues at yes or at no.
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

// load reads a word of struct seccomp_data and continues at target.
func (a *assembler) load(offset uint32, target int) int {
	if a.skip(target) != 0 {
		a.emit(Instruction{Code: opJump, K: uint32(a.skip(target))})
	}
	return a.emit(Instruction{Code: opLoad, K: offset})
}
