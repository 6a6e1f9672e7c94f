//go:build !unix

package live

const nonblock = 0
