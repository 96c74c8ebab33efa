#include "textflag.h"

// func forkSteps(clone *cloneArgs, size uintptr, steps *laidStep, count, report uintptr, failed *StepError) (pid, errno uintptr)
//
// R19 is the step, R20 how many there are, R21 which one it is, R22 the report,
// R23 what to write there. Behind the clone the child has no stack.
TEXT ·forkSteps(SB), NOSPLIT, $0-64
	MOVD clone+0(FP), R0
	MOVD size+8(FP), R1
	MOVD steps+16(FP), R19
	MOVD count+24(FP), R20
	MOVD report+32(FP), R22
	MOVD failed+40(FP), R23
	MOVD $435, R8          // clone3
	SVC
	CBZ  R0, child
	CMN  $4095, R0
	BCS  refused
	MOVD R0, pid+48(FP)
	MOVD ZR, errno+56(FP)
	RET

refused:
	NEG  R0, R0
	MOVD ZR, pid+48(FP)
	MOVD R0, errno+56(FP)
	RET

child:
	MOVD ZR, R21

step:
	CMP  R20, R21
	BEQ  end
	MOVD 0(R19), R8
	MOVD 8(R19), R0
	MOVD 16(R19), R1
	MOVD 24(R19), R2
	MOVD 32(R19), R3
	MOVD 40(R19), R4
	MOVD 48(R19), R5
	SVC
	CMN  $4095, R0
	BCS  error
	MOVD 72(R19), R9
	CBZ  R9, next          // any result will do
	MOVD 64(R19), R9
	CMP  R9, R0
	BEQ  next
	MOVD ZR, R0
	B    fail

error:
	NEG  R0, R0
	MOVD 56(R19), R9
	CMP  R9, R0            // as good as success
	BEQ  next

fail:
	MOVW R21, 0(R23)
	MOVW R0, 4(R23)
	MOVD $64, R8           // write
	MOVD R22, R0
	MOVD R23, R1
	MOVD $8, R2
	SVC

end:
	MOVD $94, R8           // exit_group
	MOVD $125, R0
	SVC
	B    end

next:
	ADD  $80, R19
	ADD  $1, R21
	B    step
