// Command main runs the functions of the packages that are rewritten, and prints what they do.
package main

import (
	"test.example/behaviour"
	"test.example/callee"
	"test.example/fields"
	"test.example/funcs"
	"test.example/gain"
	"test.example/gainall"
	"test.example/imports"
	"test.example/locals"
	"test.example/notreturned"
	"test.example/observe"
	"test.example/tags"
)

func main() {
	behaviour.Run()
	callee.Run()
	fields.Run()
	funcs.Run()
	gain.Run()
	gainall.Run()
	imports.Run()
	locals.Run()
	notreturned.Run()
	tags.Run()
	observe.Probe()
}
