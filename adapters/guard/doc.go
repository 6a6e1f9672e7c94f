// Package guard has examples of [mmapfile.File.Guard] for libraries that keep the slice of a file: maxminddb,
// roaring and Arrow. If another process truncates or replaces the file in place, a lookup is an error, and not
// the end of the process.
//
// The libraries read the mapping in place, so no lookup is a system call. Each call of Guard costs the same. So
// guard a request or a query, and not each of a million lookups.
package guard

import _ "go.dw1.io/mmapfile" // for the link in the comment
