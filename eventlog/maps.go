//go:build (unix || windows) && !nommap

package eventlog

// maps says that Bytes and At of a File show the file itself, and no copy of it.
const maps = true
