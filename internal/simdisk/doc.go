// Package simdisk is a disk in memory that fails, on Linux, for tests.
package simdisk
