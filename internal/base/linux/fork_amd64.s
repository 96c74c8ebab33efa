#include "textflag.h"

// func forkSteps(clone *cloneArgs, size uintptr, steps *laidStep, count, report uintptr, failed *StepError) (pid, errno uintptr)
//
// R12 is the step, R13 how many there are, BX which one it is, R14 the report,
// R15 what to write there. Behind the clone the child has no stack.
TEXT ·forkSteps(SB), NOSPLIT, $0-64
	MOVQ clone+0(FP), DI
	MOVQ size+8(FP), SI
	MOVQ steps+16(FP), R12
	MOVQ count+24(FP), R13
	MOVQ report+32(FP), R14
	MOVQ failed+40(FP), R15
	MOVL $435, AX          // clone3
	SYSCALL
	TESTQ AX, AX
	JEQ  child
	CMPQ AX, $0xfffffffffffff001
	JCC  refused
	MOVQ AX, pid+48(FP)
	MOVQ $0, errno+56(FP)
	RET

refused:
	NEGQ AX
	MOVQ $0, pid+48(FP)
	MOVQ AX, errno+56(FP)
	RET

child:
	XORL BX, BX

step:
	CMPQ BX, R13
	JEQ  end
	MOVQ 0(R12), AX
	MOVQ 8(R12), DI
	MOVQ 16(R12), SI
	MOVQ 24(R12), DX
	MOVQ 32(R12), R10
	MOVQ 40(R12), R8
	MOVQ 48(R12), R9
	SYSCALL
	CMPQ AX, $0xfffffffffffff001
	JCC  error
	CMPQ 72(R12), $0       // any result will do
	JEQ  next
	CMPQ AX, 64(R12)
	JEQ  next
	XORL AX, AX
	JMP  fail

error:
	NEGQ AX
	CMPQ AX, 56(R12)       // as good as success
	JEQ  next

fail:
	MOVL BX, 0(R15)
	MOVL AX, 4(R15)
	MOVL $1, AX            // write
	MOVQ R14, DI
	MOVQ R15, SI
	MOVL $8, DX
	SYSCALL

end:
	MOVL $231, AX          // exit_group
	MOVL $125, DI
	SYSCALL
	JMP  end

next:
	ADDQ $80, R12
	INCQ BX
	JMP  step
