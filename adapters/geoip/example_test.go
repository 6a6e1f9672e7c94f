package geoip_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"sync"

	"github.com/oschwald/maxminddb-golang/v2"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/live"
)

// database is what a server keeps of its GeoIP database.
type database struct {
	*live.Value[*maxminddb.Reader]
}

func openDatabase(name string, o live.Options[*maxminddb.Reader]) (database, error) {
	v, err := o.Open(name, func(f *mmapfile.File) (*maxminddb.Reader, error) {
		return maxminddb.OpenBytes(f.Bytes())
	})
	return database{v}, err
}

// ServeHTTP answers with the country and the release of the address ?ip=.
func (db database) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ip, err := netip.ParseAddr(r.FormValue("ip"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var record struct {
		Country string `maxminddb:"country"`
		Release uint32 `maxminddb:"release"`
	}
	// All that refers to the database is inside. Decode copies strings, so the record is not.
	err = db.Use(func(r *maxminddb.Reader) error { return r.Lookup(ip).Decode(&record) })
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, record.Country, record.Release)
}

// A GeoIP lookup over HTTP. The database is replaced ten times while requests run.
func Example() {
	dir, err := os.MkdirTemp("", "geoip")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "countries.mmdb")
	deploy(name, 0)
	db, err := openDatabase(name, live.Options[*maxminddb.Reader]{
		OnError: func(err error) { log.Print(err) },
		Copy:    onWindows,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	server := httptest.NewServer(db)
	defer server.Close()

	stop, clients := make(chan struct{}), sync.WaitGroup{}
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					get(server, "1.2.3.4")
				}
			}
		})
	}
	for release := range uint32(10) {
		deploy(name, release+1)
		if _, err := db.Refresh(); err != nil { // a deployment may as well send a signal, or wait
			log.Fatal(err)
		}
	}
	fmt.Print(get(server, "1.2.3.4"))
	close(stop)
	clients.Wait()
	// Output: AU 10
}

// get returns the answer for an address.
func get(server *httptest.Server, ip string) string {
	resp, err := server.Client().Get(server.URL + "/?ip=" + ip)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		log.Fatal(resp.Status, err, string(body))
	}
	return string(body)
}
