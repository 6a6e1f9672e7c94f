//go:build !unix

package main

import "os"

// waitUnread does not return: only a write tells here that out is not read any more.
func waitUnread(*os.File) { select {} }
