//go:build !race

package eventlog_test

const race = false
