package eventlog_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

// thinDisk is a file system on a loop device whose image is on a small tmpfs: when that is full, the
// device fails to write what was not written before.
type thinDisk struct {
	t                    *testing.T
	fs, dir, device, pad string
}

func newThinDisk(t *testing.T, fs, block string) *thinDisk {
	t.Helper()
	below := smallDisk(t, "600m")
	if _, err := exec.LookPath("mkfs." + fs); err != nil {
		t.Skip("there is no mkfs.", fs)
	}
	d := &thinDisk{t: t, fs: fs, dir: t.TempDir(), pad: filepath.Join(below, "pad")}
	image := filepath.Join(below, "image")
	put(t, image, nil)
	if err := os.Truncate(image, 400<<20); err != nil { // xfs needs 300 MB
		t.Fatal(err)
	}
	args := map[string][]string{"ext4": {"-q", "-b", block, "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"}, "xfs": {"-q", "-K"}}[fs]
	d.run("mkfs."+fs, append(args, image)...)
	out, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skip("there is no loop device: ", err)
	}
	d.device = strings.TrimSpace(string(out))
	t.Cleanup(func() {
		syscall.Unmount(d.dir, syscall.MNT_DETACH)
		exec.Command("losetup", "--detach", d.device).Run()
	})
	f, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(syscall.Fallocate(int(f.Fd()), 0, 0, 400<<20), f.Close()) // the journal and all tables
	if err != nil {
		t.Fatal(err)
	}
	// The driver takes a request of which a part was written for written: so each has one page.
	put(t, filepath.Join("/sys/block", filepath.Base(d.device), "queue/max_sectors_kb"), []byte("4"))
	d.mount()
	d.run("fstrim", d.dir) // no free block of the file system has one in the image
	return d
}

func (d *thinDisk) run(name string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s: %v: %s", name, err, out)
	}
}

func (d *thinDisk) mount() {
	d.t.Helper()
	if err := syscall.Mount(d.device, d.dir, d.fs, 0, ""); err != nil {
		d.t.Skip("mount: ", err)
	}
}

// remount drops the page cache of the file system.
func (d *thinDisk) remount() {
	d.t.Helper()
	err := syscall.Unmount(d.dir, 0)
	for deadline := time.Now().Add(20 * time.Second); err == syscall.EBUSY && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // a child that another test has just started has copies of descriptors
		err = syscall.Unmount(d.dir, 0)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.mount()
}

// fill makes the device fail, and free makes it work again.
func (d *thinDisk) fill() {
	d.t.Helper()
	syscall.Sync()
	f, err := os.Create(d.pad)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size >= 4096; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *thinDisk) free() {
	d.t.Helper()
	if err := os.Truncate(d.pad, 0); err != nil {
		d.t.Fatal(err)
	}
}

// What a flush has lost is not acknowledged by the next writer, although the page cache still has
// it: the writer's last events, or those of its last two segments, or the header of the last.
func TestOpen_AfterFailedFlush(t *testing.T) {
	for _, c := range []struct {
		fs, block, reader string
		segment           int64
	}{
		{"ext4", "4096", "none", 0},
		{"ext4", "4096", "process", 600_000},
		{"ext4", "1024", "process", 0},
		{"ext4", "4096", "same process", 600_000},
		{"xfs", "4096", "none", 600_000},
		{"xfs", "4096", "process", 0},
	} {
		t.Run(fmt.Sprintf("%s/block=%s/reader=%s/segment=%d", c.fs, c.block, c.reader, c.segment), func(t *testing.T) {
			testFailedFlush(t, newThinDisk(t, c.fs, c.block), c.reader, c.segment)
		})
	}
}

func testFailedFlush(t *testing.T, d *thinDisk, reader string, segment int64) {
	dir, o := filepath.Join(d.dir, "stream"), eventlog.StreamOptions{SegmentSize: segment}
	data := func(seq int64) string { return fmt.Sprint(seq, strings.Repeat("x", 1000)) }
	s := openStream(t, dir, o)
	appendTo := func(next int64) {
		for s.Next() < next {
			push(t, s, data(s.Next()))
		}
	}
	appendTo(100)
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	d.fill()
	appendTo(700) // in the second segment, or the first
	if err := s.Sync(); err == nil {
		t.Fatal("Sync: no error on a device that is full")
	}
	var r *eventlog.StreamReader
	end := func() {}
	switch reader {
	case "process":
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), readerEnv+"="+dir)
		in, ierr := cmd.StdinPipe()
		out, oerr := cmd.StdoutPipe()
		if err := errors.Join(ierr, oerr, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		end = func() { in.Close(); cmd.Wait() }
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "700000\n" {
			t.Fatalf("the reader has %q, %v", line, err)
		}
	case "same process":
		r = openStreamReader(t, dir)
		if all, err := collect(r.Events(0)); len(all) != 700 || err != nil {
			t.Fatal(len(all), err)
		}
		end = func() { r.Close() }
	}
	defer end()
	if err := s.Close(); err == nil {
		t.Error("Close: no error")
	}
	d.free()
	s, err := eventlog.OpenStream(dir, o)
	if err != nil { // that of the flush
		s = openStream(t, dir, o)
	}
	if s.Next() < 100 {
		t.Fatalf("events from %d on are lost, 100 were durable", s.Next())
	}
	found := s.Next()
	appendTo(found + 300)
	if _, err := s.AppendSync([]byte(data(s.Next()))); err != nil {
		t.Fatal(err)
	}
	durable := s.Next()
	closeStream(t, s)
	end()
	d.remount()
	s = openStream(t, dir, o)
	if err := s.Check(); err != nil || s.Next() != durable {
		t.Errorf("events up to %d, want %d, of which %d were found; %v", s.Next(), durable, found, err)
	}
	seq := int64(0)
	for e, err := range s.Events(0) {
		if err != nil || string(e.Data) != data(seq) {
			t.Fatalf("event %d: %.20q, %v", seq, e.Data, err)
		}
		seq++
	}
	if seq != durable {
		t.Errorf("%d events, want %d", seq, durable)
	}
	closeStream(t, s)
}

// A copy from outside the writer has what the source shows, also if a flush of the writer has
// failed: then only the page cache has its last events, and shared blocks do not.
func TestStreamReader_CopyAfterFailedFlush(t *testing.T) {
	for _, fs := range []string{"ext4", "xfs"} {
		t.Run(fs, func(t *testing.T) {
			d := newThinDisk(t, fs, "4096")
			dir, dst := filepath.Join(d.dir, "stream"), filepath.Join(d.dir, "copy")
			s := openStream(t, dir, eventlog.StreamOptions{})
			add := func(n int64) {
				for s.Next() < n {
					push(t, s, strings.Repeat("x", 1000))
				}
			}
			add(100)
			if err := s.Sync(); err != nil {
				t.Fatal(err)
			}
			d.fill()
			add(700)
			if err := s.Sync(); err == nil {
				t.Fatal("no error on a full disk")
			}
			d.free()
			r := openStreamReader(t, dir)
			shown, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			err = r.Copy(t.Context(), dst, nil)
			if err != nil { // of the flush, once
				err = r.Copy(t.Context(), dst, nil)
			}
			if err != nil {
				t.Skip("the system still reports the failure: ", err)
			}
			r.Close()
			s.Close()
			d.remount()
			c := openStream(t, dst, eventlog.StreamOptions{})
			if c.Next() < shown {
				t.Errorf("the copy has %d events, the source showed %d", c.Next(), shown)
			}
			closeStream(t, c)
		})
	}
}
