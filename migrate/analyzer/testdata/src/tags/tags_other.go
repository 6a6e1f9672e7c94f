//go:build !never

package tags

import "io"

func isTerminal(w io.Writer) bool { return false }

func (screen) draw(w io.Writer) {}
