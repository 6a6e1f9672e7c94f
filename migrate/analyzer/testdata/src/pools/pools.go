package pools // want package:"PoolPut 0" package:` PoolAdded PoolAny PoolAppended PoolCalled PoolConverted PoolEmbedded PoolExported PoolFilled PoolFound PoolGeneric PoolGiven PoolKept PoolList PoolLiteral PoolNext PoolPop PoolRecovered PoolSent PoolTyped PoolUnnamed [^P]`

// Package pools keeps readers and makes others. The functions that may return a kept one are those of the fact.

import (
	"bytes"
	"io"
	"os"
)

// Pool hands out readers and takes others.
type Pool interface {
	PoolGet() io.Reader
	PoolPut(r io.Reader)
}

type pool struct {
	kept, made io.Reader
}

var all pool

// New returns a Pool.
func New() Pool { return &all }

func (p *pool) PoolGet() io.Reader {
	p.made = &bytes.Buffer{}
	return p.made
}

func (p *pool) PoolPut(r io.Reader) { p.kept = r } // want PoolPut:`asserts \*os.File`

// PoolNext returns what a function value does.
func PoolNext(fn func() io.Reader) io.Reader { return fn() }

// PoolPop returns what any type does.
func PoolPop(p interface{ PoolOther() io.Reader }) io.Reader { return p.PoolOther() }

func PoolOpened(name string) (io.Reader, error) {
	f, err := os.Open(name) // want `f goes to a result, and pools .* asserts \*os.File`
	if err != nil {
		return nil, err
	}
	return f, nil
}

func PoolGiven(r io.Reader) io.Reader { return r }

func PoolKept() io.Reader { return all.kept }

func PoolFound() io.Reader {
	f, _ := all.kept.(*os.File)
	return f
}

// Exported has fields that others set.
type Exported struct {
	io.Reader
	Other io.Reader
}

func PoolEmbedded(e Exported) io.Reader { return e.Reader }

func PoolExported(e *Exported) io.Reader { return e.Other }

func PoolRecovered() (r io.Reader) {
	defer func() { r, _ = recover().(io.Reader) }()
	panic(all.kept)
}

type from struct{ converted io.Reader }

type to struct{ converted io.Reader }

var converted from

func PoolConvert(r io.Reader) { converted.converted = r }

func PoolConverted() io.Reader { return to(converted).converted }

type named struct{ unnamed io.Reader }

func PoolUnnamed(r io.Reader) io.Reader {
	var n struct{ unnamed io.Reader } = named{r}
	return n.unnamed
}

var list = []io.Reader{&bytes.Buffer{}}

// PoolList returns what the caller can add to.
func PoolList() []io.Reader { return list }

func PoolFilled() io.Reader { return list[0] }

var call = func(r io.Reader) io.Reader { return r }

func PoolCalled() io.Reader { return call(all.kept) }

var filled map[string]io.Reader

// PoolAny returns a map that the caller can add to.
func PoolAny() any {
	filled = map[string]io.Reader{}
	return filled
}

func PoolAdded() io.Reader { return filled["added"] }

var sent = make(chan io.Reader, 1)

func send[C ~chan io.Reader](c C, r io.Reader) { c <- r }

func PoolSend(r io.Reader) { send(sent, r) }

func PoolSent() io.Reader { return <-sent }

var appended = make([]io.Reader, 1)

func add[S ~[]E, E any](s S, e E) { _ = append(s[:0], e) }

func PoolAppend(r io.Reader) { add(appended, r) }

func PoolAppended() io.Reader { return appended[0] }

func literal[S ~[]io.Reader](r io.Reader) S { return S{r} }

func PoolLiteral(r io.Reader) io.Reader { return literal[[]io.Reader](r)[0] }

type before struct{ generic io.Reader }

type after struct{ generic io.Reader }

func convert[T after](b before) T { return T(b) }

func PoolGeneric(r io.Reader) io.Reader { return after(convert[after](before{r})).generic }

type methods map[string]io.Reader

func (methods) Other() {}

var withMethods = methods{}

func put[T interface {
	~map[string]io.Reader
	Other()
}](m T, r io.Reader) {
	n := m
	n["put"] = r
}

func PoolMethods(r io.Reader) { put(withMethods, r) }

func PoolTyped() io.Reader { return withMethods["put"] }

func PoolEach(r io.Reader, fn func(io.Reader)) { fn(r) }

func PoolMake(r io.Reader) func() io.Reader { return func() io.Reader { return r } }
