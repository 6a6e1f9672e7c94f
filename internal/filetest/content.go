package filetest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"testing"
)

// ErrMidway is the error of readers and writers that fail in the middle.
var ErrMidway = errors.New("failed midway")

// Pattern returns n bytes without a zero. Each byte follows from the one before.
func Pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = PatternByte(int64(i))
	}
	return b
}

// PatternByte returns the byte of the pattern at off.
func PatternByte(off int64) byte { return byte(off%251) + 1 }

// PatternWithZeros returns n bytes that depend on their position. Some of them are zero.
func PatternWithZeros(n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*13 + i>>16)
	}
	return b
}

// CheckContiguous returns an error unless b is a part of a pattern.
func CheckContiguous(b []byte) error {
	for i := 1; i < len(b); i++ {
		if b[i] != b[i-1]%251+1 {
			return fmt.Errorf("byte %d is %d after %d", i, b[i], b[i-1])
		}
	}
	return nil
}

// CheckOldOrZero returns an error unless each byte is zero, or that of a pattern at off. Both may
// be in a file that was truncated and extended.
func CheckOldOrZero(b []byte, off int64) error {
	for i, c := range b {
		if c != 0 && c != PatternByte(off+int64(i)) {
			return fmt.Errorf("byte %d is %d, neither 0 nor %d", off+int64(i), c, PatternByte(off+int64(i)))
		}
	}
	return nil
}

// CheckReadResult checks the rule for n and err of ReadAt: a short read is io.EOF.
func CheckReadResult(n, asked int, err error) error {
	switch {
	case n < 0 || n > asked:
		return fmt.Errorf("%d bytes of %d", n, asked)
	case n == asked && err != nil, n < asked && err != io.EOF:
		return fmt.Errorf("%d bytes of %d with error %v", n, asked, err)
	}
	return nil
}

// ErrorText describes err. It has no path, but says whether the path is name.
func ErrorText(err error, name string) string {
	if err == nil {
		return "nil"
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Sprintf("%T in PathError{%s, %v, own path: %v}", err, pe.Op, pe.Err, pe.Path == name)
	}
	return fmt.Sprintf("%T %v", err, err)
}

// SameBytes fails the test if got and want differ, and reports the first difference.
func SameBytes(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	t.Errorf("%s: %d bytes, want %d; they differ from byte %d", what, len(got), len(want), i)
}

// IsStatOfClosed reports whether err is that of os.File.Stat on a closed handle of Windows. There
// Stat returns the system's error, not os.ErrClosed.
func IsStatOfClosed(err error) bool {
	pe, ok := errors.AsType[*fs.PathError](err)
	return runtime.GOOS == "windows" && ok && strings.HasPrefix(pe.Op, "GetFile")
}

// Show returns b for the log: all of it if short, else its length, checksum and ends.
func Show(b []byte) string {
	if len(b) <= 16 {
		return fmt.Sprintf("%x", b)
	}
	return fmt.Sprintf("[%d crc %08x %x..%x]", len(b), crc32.ChecksumIEEE(b), b[:4], b[len(b)-4:])
}
