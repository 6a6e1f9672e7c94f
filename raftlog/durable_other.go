//go:build !linux

package raftlog

const dataSync = 0
