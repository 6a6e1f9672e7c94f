//go:build !unix

package main

import "os/exec"

func killAll(*exec.Cmd) {}
