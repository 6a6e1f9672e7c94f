// func exchange()
TEXT ·exchange(SB), 4, $0-0
	MOVQ ·given(SB), AX
	MOVQ AX, ·taken(SB)
	RET
