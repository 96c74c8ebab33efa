package seccomp

import "syscall"

// Action is the action of the kernel for a call: a SECCOMP_RET_* value.
type Action uint32

// Actions without an error number; see Errno for the others.
const (
	// Allow executes the call.
	Allow Action = 0x7fff0000
	// Kill kills the whole process with SIGSYS.
	Kill Action = 0x80000000
	// Ignore returns success without executing the call.
	Ignore Action = errnoAction
)

const errnoAction = 0x00050000

// Errno returns the action that fails the call with an error number.
func Errno(e syscall.Errno) Action { return errnoAction | Action(e) }

// Policy defines the action for each system call of each architecture.
type Policy struct {
	// Default is the action for calls that no rule names.
	Default Action
	// Foreign is the action for calls of another architecture (int 0x80 on amd64) and of x32.
	Foreign Action
	Rules   []Rule
}

// Rule sets the action for a group of calls. Names that only other architectures have are ignored. A call may
// be in one rule only.
type Rule struct {
	// Why is the reason for the whole group, in one line.
	Why    string
	Calls  []string
	Action Action
	// Args sets another action for some values of one argument. It removes these calls from the kernel's bitmap
	// of calls that are always allowed (40 to 50 ns per call instead of 34), so it is not used for frequent
	// calls.
	Args *Args
}

// Args tests the low 32 bits of one argument: every argument that a policy can test safely is a 32-bit integer to the
// kernel, which ignores the upper half. A filter cannot follow pointers, and another thread could change the memory
// between the check and the call.
type Args struct {
	Index   int      // 0 to 5
	AnyBits uint32   // Then applies if one of these bits is set,
	OneOf   []uint32 // or if the value is one of these
	Then    Action
}
