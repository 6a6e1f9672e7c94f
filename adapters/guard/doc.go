// Package guard has examples of [mmapfile.File.Guard] for libraries that keep the slice of
// a file: maxminddb, roaring and Arrow. If another process truncates the file, or replaces
// it in place, a lookup returns an error and does not end the process.
//
// The libraries read the mapping in place, so no lookup is a system call. A call of Guard
// costs the same however many lookups it covers, so guard a request or a query, not each
// lookup.
package guard

import _ "go.dw1.io/mmapfile" // for the link in the comment
