package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"go.dw1.io/mmapfile"
)

// promiseNoChange compares again, after mmapfile.Open has not mapped the file.
func promiseNoChange(ctx context.Context, w io.Writer, d time.Duration, size int64, before *os.File) error {
	fmt.Fprintln(w, "The file was not mapped, as on a container's overlayfs, on FUSE, on network file systems, on Windows, or after few reads.")
	fmt.Fprintln(w, "With the promise that it does not change:")
	f, err := mmapfile.Options{Immutable: true}.OpenFile(before.Name(), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := lookUpInTurns(ctx, w, d, size, before, f, "Options{Immutable: true}"); err != nil {
		return err
	}
	if !mapped() {
		fmt.Fprintln(w, "It was not mapped either: nothing can map it here, or a mapping did not pay.")
	}
	return nil
}

// mapped reports whether a file is mapped now.
func mapped() bool { return stats().MappedFiles > 0 }

func stats() (s mmapfile.Stats) {
	mmapfile.ReadStats(&s)
	return s
}
