// Package peers has nothing but benchmarks: see its tests.
package peers
