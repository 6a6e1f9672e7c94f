// Package durable has the benchmarks of logs whose events are durable when an append returns.
// They are tests; make durable runs them.
package durable
