package run

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
)

// A row that drops its file runs once more in each round. Each implementation is the first one in its turn.
func TestColdRun_Turns(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, make([]byte, 64<<10), 0o644); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for key, uncounted := range map[string]int{"order/device=disk/call=copy": 1, "tmpfs/order": 0} {
		rows := cold.Rows()
		row := coldRow{Row: rows[slices.IndexFunc(rows, func(r cold.Row) bool { return r.Key == key })], path: file}
		run := &coldRun{self: self, rows: []coldRow{row}, each: time.Millisecond}
		shown, first := 0, ""
		for round := range 3 {
			var raw, log bytes.Buffer
			r := &recording{&raw, &progress{w: &log, terminal: true, round: round + 1, rounds: 3}}
			if err := run.measure(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(raw.String()), "\n")
			if len(lines) != 3 {
				t.Errorf("%s: %q, want a figure of each implementation", key, lines)
			}
			shown += strings.Count(log.String(), "\r")
			first += regexp.MustCompile(`impl=([a-z-]*[a-z])`).FindStringSubmatch(lines[0])[1] + " "
		}
		if want := 3 * (3 + uncounted); shown != want {
			t.Errorf("%s: %d processes, want %d", key, shown, want)
		}
		if want := "mmapfile os-again os "; first != want {
			t.Errorf("%s: the first ones are %s, want %s", key, first, want)
		}
	}
}
