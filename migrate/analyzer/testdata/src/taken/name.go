// Package taken has a variable of the name of package mmapfile.
package taken

var mmapfile int
