// Package returned takes files back that other packages hold, and looks at their type.
package returned

import (
	"flag"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
)

func limited(name string) bool {
	f, _ := os.Open(name) // want `f goes to a parameter of io.LimitReader, and returned .* asserts \*os.File`
	f.WriteAt(nil, 0)
	limited := io.LimitReader(f, 10).(*io.LimitedReader)
	_, ok := limited.R.(*os.File)
	return ok
}

func size(request *http.Request) int64 {
	f, ok := request.Body.(*os.File)
	if !ok {
		return -1
	}
	info, _ := f.Stat()
	return info.Size()
}

func body(name string) int64 {
	f, _ := os.Open(name) // want `f goes to field Body, and returned .* asserts \*os.File`
	f.WriteAt(nil, 0)
	return size(&http.Request{Body: f})
}

func assigned(name string) int64 {
	f, _ := os.Open(name) // want `f goes to request.Body, and returned .* asserts \*os.File .*: change it by hand`
	f.WriteAt(nil, 0)
	request := &http.Request{}
	request.Body = f
	return size(request)
}

func logged(name string) bool {
	f, _ := os.Create(name) // want `f goes to a parameter of log.SetOutput, and returned .* asserts \*os.File`
	f.WriteAt(nil, 0)
	log.SetOutput(f)
	_, ok := log.Writer().(*os.File)
	return ok
}

func flags(name string) bool {
	f, _ := os.Create(name) // want `f goes to a parameter of set.SetOutput, and returned .* asserts \*os.File`
	f.WriteAt(nil, 0)
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(f)
	_, ok := set.Output().(*os.File)
	return ok
}

// tested has a package that hands the file on to the one of its result.
func tested(name string) bool {
	f, _ := os.Open(name) // want `f goes to a parameter of httptest.NewRequest, and returned .* asserts \*os.File`
	f.WriteAt(nil, 0)
	_, ok := httptest.NewRequest("POST", "/", f).Body.(*os.File)
	return ok
}
