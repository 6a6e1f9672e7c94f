package geoip_test

import (
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
	"github.com/oschwald/maxminddb-golang/v2"

	"go.dw1.io/mmapfile/live"
)

// Windows lets no file be replaced that is open.
const onWindows = runtime.GOOS == "windows"

// deploy renames a new database to name, as a program does that updates it.
func deploy(name string, release uint32) {
	if err := write(name+".tmp", release); err != nil {
		log.Fatal(err)
	}
	if err := os.Rename(name+".tmp", name); err != nil {
		log.Fatal(err)
	}
}

// write makes a database that has the release in each of its records: 1.n.0.0/16 for n below 200.
func write(name string, release uint32) error {
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "Countries", RecordSize: 24})
	if err != nil {
		return err
	}
	for i := range byte(200) {
		network := &net.IPNet{IP: net.IPv4(1, i, 0, 0).To4(), Mask: net.CIDRMask(16, 32)}
		record := mmdbtype.Map{"country": mmdbtype.String("AU"), "release": mmdbtype.Uint32(release), "network": mmdbtype.Uint32(i)}
		if err := tree.Insert(network, record); err != nil {
			return err
		}
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = tree.WriteTo(f)
	return errors.Join(err, f.Sync(), f.Close())
}

// Each request is answered from one release, which is not older than the one before, also if a database is
// deployed in the background.
func TestDatabase_Deployments(t *testing.T) {
	name := filepath.Join(t.TempDir(), "countries.mmdb")
	deploy(name, 0)
	var truncated atomic.Bool
	db, err := openDatabase(name, live.Options[*maxminddb.Reader]{
		Interval: time.Millisecond, Settle: -1, Copy: onWindows,
		OnError: func(err error) {
			if !truncated.Load() {
				t.Error(err)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ask := func(ip string) (code int, country string, release uint32) {
		w := httptest.NewRecorder()
		db.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?ip="+ip, nil))
		fmt.Fscan(w.Body, &country, &release)
		return w.Code, country, release
	}
	if code, _, _ := ask("none"); code != http.StatusBadRequest {
		t.Error(code)
	}
	const last = 10
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for before := uint32(0); before < last; runtime.Gosched() {
				code, country, release := ask("1.2.3.4")
				if code != http.StatusOK || country != "AU" || release < before {
					t.Errorf("%d %s %d after %d", code, country, release, before)
					return
				}
				before = release
			}
		})
	}
	for release := range uint32(last) {
		deploy(name, release+1)
	}
	clients.Wait()

	// Truncated in place, which no program should do: an error, and not the end of the process.
	truncated.Store(true)
	if err := os.Truncate(name, 0); err != nil && !onWindows {
		t.Fatal(err)
	}
	if code, _, release := ask("1.2.3.4"); code != http.StatusServiceUnavailable && !onWindows {
		t.Errorf("truncated: %d, release %d", code, release)
	}
}
