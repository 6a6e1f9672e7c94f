package gain

import (
	"bytes"
	"fmt"
	"io"
	"net/http/httptest"

	"test.example/observe"
)

// Run calls every function. Those without a result write, or end without a panic.
func Run() {
	for _, c := range []struct {
		name string
		fn   func(name string)
	}{
		{"readAt", readAt}, {"readAtInLoop", readAtInLoop}, {"records", records}, {"readAtOnce", readAtOnce}, {"samples", samples}, {"sample", sample},
		{"large", large}, {"largeArray", largeArray}, {"smaller", smaller}, {"seek", seek}, {"inPlace", inPlace},
		{"inLoop", inLoop}, {"full", full}, {"archive", archive}, {"all", all}, {"scan", scan}, {"write", write},
		{"buffered", buffered}, {"writeOnly", writeOnly}, {"appends", appends}, {"synchronous", synchronous},
		{"list", list}, {"seeks", seeks}, {"asked", asked},
	} {
		observe.Case("gain."+c.name, func(name string) any { c.fn(name); return nil })
	}
	observe.Case("gain.kept", func(name string) any {
		t := kept(name)
		t.find(10)
		handedOver(t)
		return nil
	})
	observe.Case("gain.captured", func(name string) any { captured(name)(); return nil })
	observe.Case("gain.sniff", func(name string) any {
		var b bytes.Buffer
		sniff(&b, name)
		return observe.Bytes(b.Bytes())
	})
	observe.Case("gain.section", func(name string) any {
		r := section(name)
		_, seeks := r.(io.Seeker)
		return fmt.Sprint(observe.Read(r), seeks)
	})
	observe.Case("gain.header", func(name string) any { return header(name) })
	observe.Case("gain.opensInLoop", func(name string) any { opensInLoop([]string{name, name, "y"}); return nil })
	observe.Case("gain.serve", func(name string) any {
		request, answer := httptest.NewRequest("GET", "/"+name, nil), httptest.NewRecorder()
		request.Header.Set("Range", "bytes=4000-9000")
		serve(answer, request)
		return fmt.Sprint(answer.Code, answer.Header(), observe.Bytes(answer.Body.Bytes()))
	})
}
