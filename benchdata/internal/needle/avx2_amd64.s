#include "textflag.h"

// func zerosAVX2(p []byte) int
TEXT ·zerosAVX2(SB), NOSPLIT, $0-32
	MOVQ p_base+0(FP), SI
	MOVQ p_len+8(FP), CX
	XORQ AX, AX
	SUBQ $256, CX // where the last block may begin

block:
	CMPQ    AX, CX
	JGT     done
	VMOVDQU (SI)(AX*1), Y0
	VMOVDQU 32(SI)(AX*1), Y1
	VMOVDQU 64(SI)(AX*1), Y2
	VMOVDQU 96(SI)(AX*1), Y3
	VPOR    128(SI)(AX*1), Y0, Y0
	VPOR    160(SI)(AX*1), Y1, Y1
	VPOR    192(SI)(AX*1), Y2, Y2
	VPOR    224(SI)(AX*1), Y3, Y3
	VPOR    Y1, Y0, Y0
	VPOR    Y3, Y2, Y2
	VPOR    Y2, Y0, Y0
	VPTEST  Y0, Y0
	JNZ     done
	ADDQ    $256, AX
	JMP     block

done:
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET
