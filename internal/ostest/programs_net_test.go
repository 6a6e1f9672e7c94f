package ostest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile/internal/filetest"
)

func needNet(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no network on " + runtime.GOOS)
	}
}

// responseText returns a response as text. It replaces the multipart boundary, which is random.
func responseText(r *http.Response) (string, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	r.Header.Del("Date")
	text := r.Status + "\n"
	for _, key := range slices.Sorted(maps.Keys(r.Header)) {
		text += fmt.Sprintln(key, r.Header[key])
	}
	text += fmt.Sprintln(r.ContentLength, string(body))
	if _, params, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && params["boundary"] != "" {
		text = strings.ReplaceAll(text, params["boundary"], "BOUNDARY")
	}
	return text, nil
}

func TestPrograms_ServeContent(t *testing.T) {
	t.Parallel()
	needNet(t)
	content := filetest.Pattern(300_000)
	name := filetest.Temp(t, content)
	modified := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	day := modified.Add(-24 * time.Hour).Format(http.TimeFormat)
	for _, req := range []struct {
		method string
		header []string
	}{
		{"GET", nil},
		{"HEAD", nil},
		{"GET", []string{"Range", "bytes=0-0"}},
		{"GET", []string{"Range", "bytes=1000-65000"}},
		{"GET", []string{"Range", "bytes=299990-"}},
		{"GET", []string{"Range", "bytes=-100"}},
		{"GET", []string{"Range", "bytes=0-9,5000-70000,-7"}},
		{"HEAD", []string{"Range", "bytes=0-9,5000-70000,-7"}},
		{"GET", []string{"Range", "bytes=300000-"}},
		{"GET", []string{"Range", "bytes=nonsense"}},
		{"GET", []string{"Range", "bytes=10-19", "If-Range", `"tag"`}},
		{"GET", []string{"Range", "bytes=10-19", "If-Range", `"other"`}},
		{"GET", []string{"Range", "bytes=10-19", "If-Range", modified.Format(http.TimeFormat)}},
		{"GET", []string{"Range", "bytes=10-19", "If-Range", day}},
		{"GET", []string{"If-Modified-Since", modified.Format(http.TimeFormat)}},
		{"GET", []string{"If-Modified-Since", day}},
		{"GET", []string{"If-None-Match", `"tag"`}},
		{"GET", []string{"If-Match", `"other"`}},
	} {
		sameAnswer(t, name, func(f filetest.File) (string, error) {
			if _, err := f.Seek(123, io.SeekStart); err != nil { // the cursor does not matter
				return "", err
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Etag", `"tag"`)
				w.Header().Set("Content-Type", "application/octet-stream")
				http.ServeContent(w, r, "data", modified, f)
			}))
			defer server.Close()
			r, err := http.NewRequest(req.method, server.URL, nil)
			if err != nil {
				return "", err
			}
			for i := 0; i < len(req.header); i += 2 {
				r.Header.Set(req.header[i], req.header[i+1])
			}
			response, err := server.Client().Do(r)
			if err != nil {
				return "", err
			}
			defer response.Body.Close()
			text, err := responseText(response)
			if err != nil {
				return "", err
			}
			pos, err := f.Seek(0, io.SeekCurrent)
			b := make([]byte, 10)
			n, rerr := f.ReadAt(b, 5)
			return fmt.Sprintf("%s %d %s %d %v %x", req.method, pos, text, n, rerr, b), err
		})
	}
}

// connect returns both ends of a connection.
func connect(t testing.TB, network string) (client, server net.Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		dir, err := os.MkdirTemp("", "s") // the name of a socket must be short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		address = filepath.Join(dir, "s")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skip("cannot listen: ", err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	if client, err = net.Dial(network, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server = <-accepted; server == nil {
		t.FailNow()
	}
	t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	return client, server
}

func TestPrograms_SocketCopies(t *testing.T) {
	t.Parallel()
	needNet(t)
	const size = 1 << 20
	content := filetest.Pattern(size)
	name := filetest.Temp(t, content)
	for _, network := range []string{"tcp", "unix"} {
		for way, do := range map[string]func(c net.Conn, f filetest.File) (int64, error){
			"Copy":    func(c net.Conn, f filetest.File) (int64, error) { return io.Copy(c, f) },
			"CopyN":   func(c net.Conn, f filetest.File) (int64, error) { return io.CopyN(c, f, 200_000) },
			"CopyBig": func(c net.Conn, f filetest.File) (int64, error) { return io.CopyN(c, f, size) },
			"WriteTo": func(c net.Conn, f filetest.File) (int64, error) { return f.WriteTo(c) },
		} {
			t.Run(network+way, func(t *testing.T) {
				t.Parallel()
				sameAnswer(t, name, func(f filetest.File) (string, error) {
					if _, err := f.Seek(1000, io.SeekStart); err != nil {
						return "", err
					}
					client, server := connect(t, network)
					got := filetest.Receive(server)
					n, err := do(client, f)
					_ = client.Close()
					sent := <-got
					pos, perr := f.Seek(0, io.SeekCurrent)
					b := make([]byte, 20)
					m, rerr := f.Read(b)
					return fmt.Sprint(n, err, pos, perr, m, rerr, b, digest(sent)), nil
				})
			})
		}
		t.Run(network+"ToFile", func(t *testing.T) {
			t.Parallel()
			for _, limit := range []int64{-1, 5000, 700_000} {
				sameWrites(t, os.O_RDWR, func(f filetest.File) (string, error) {
					if _, err := f.Seek(500, io.SeekStart); err != nil {
						return "", err
					}
					client, server := connect(t, network)
					go func() {
						_, _ = io.Copy(client, bytes.NewReader(content))
						_ = client.Close()
					}()
					var n int64
					var err error
					if limit < 0 {
						n, err = io.Copy(f, server)
					} else {
						n, err = io.CopyN(f, server, limit)
					}
					if err != nil {
						return "", err
					}
					pos, err := f.Seek(0, io.SeekCurrent)
					if err != nil {
						return "", err
					}
					if _, err := f.Write([]byte("behind it")); err != nil {
						return "", err
					}
					b := make([]byte, 100)
					m, rerr := f.ReadAt(b, pos-10)
					return fmt.Sprint(n, pos, m, rerr, string(b)), nil
				})
			}
		})
	}
}
