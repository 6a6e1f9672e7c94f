//go:build !predecessor

package lab

// predecessor is v0.1.2, which not every registry has: no test may need it.
var predecessor []impl
