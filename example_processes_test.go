//go:build (unix || windows) && !nommap && !ios && !android

package mmapfile_test

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"sync/atomic"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func init() { filetest.Children["count"] = childCount }

// childCount adds to a counter in a file that the parent has mapped, too.
func childCount(args []string) error {
	f, err := mmapfile.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	counter, err := mmapfile.At[atomic.Uint64](f, 8)
	if err != nil {
		return err
	}
	for range 20_000 {
		counter.Add(1)
	}
	return nil
}

// counterProcess is a program that adds 20,000 to the counter at offset 8 of a file: this test binary.
func counterProcess(name string) *exec.Cmd {
	line := filetest.Command(os.Args[0], "-test.run=^TestChildProcess$", "--", name)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), filetest.ChildEnv+"=count")
	return cmd
}

// Two processes count in one number, without a lock and without a system call.
func ExampleAt_twoProcesses() {
	name, remove := exampleFile(string(make([]byte, 16)))
	defer remove()
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	counter, err := mmapfile.At[atomic.Uint64](f, 8)
	if err != nil {
		log.Fatal(err)
	}

	other := counterProcess(name) // does the same in another process
	if err := other.Start(); err != nil {
		log.Fatal(err)
	}
	for range 20_000 {
		counter.Add(1)
	}
	if err := other.Wait(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(counter.Load())
	// Output: 40000
}
