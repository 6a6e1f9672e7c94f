//go:build nommap || !(unix || windows)

package eventlog

// maps is false where all goes through system calls, since what Bytes and At give is a copy.
const maps = false
