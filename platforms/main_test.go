package main

import (
	"slices"
	"testing"
)

func TestParseTargets(t *testing.T) {
	all, err := parseTargets(targetList)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]target{}
	for _, target := range all {
		if _, ok := byName[target.name]; ok {
			t.Errorf("%s is listed twice", target.name)
		}
		byName[target.name] = target
	}
	for _, want := range []target{
		{name: "nommap", args: []string{"-tags=nommap"}},
		{name: "race-nommap", env: []string{"CGO_ENABLED=1"}, args: []string{"-race", "-tags=nommap"}, tool: "gcc", from: "gcc"},
		{name: "wasip1/wasm", env: []string{"GOOS=wasip1", "GOARCH=wasm", "GOWASIRUNTIME=wazero"}, tool: "wazero",
			exec: "{goroot}/lib/wasm/go_wasip1_wasm_exec", from: "wazero"},
		{name: "linux/arm64", env: []string{"GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0"}, tool: "qemu-aarch64-static",
			exec: "{tool}", from: "qemu-user-static"},
	} {
		got := byName[want.name]
		if got.tool != want.tool || got.exec != want.exec || got.from != want.from ||
			!slices.Equal(got.env, want.env) || !slices.Equal(got.args, want.args) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}

	for what, list := range map[string]string{
		"a field too few":    "linux/arm64 - - qemu-aarch64-static\n",
		"an unknown program": "linux/arm64 - - box64 box64\n",
	} {
		if _, err := parseTargets(list); err == nil {
			t.Errorf("no error for %s", what)
		}
	}
}

func TestChoose(t *testing.T) {
	all := []target{{name: "a"}, {name: "b"}, {name: "c"}}
	for _, names := range [][]string{{"c", "a"}, {"b"}} {
		chosen, err := choose(all, names)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(chosen, names, func(t target, name string) bool { return t.name == name }) {
			t.Errorf("%v for %v", chosen, names)
		}
	}
	if chosen, err := choose(all, nil); err != nil || len(chosen) != len(all) {
		t.Errorf("%v, %v without names", chosen, err)
	}
	if _, err := choose(all, []string{"d"}); err == nil {
		t.Error("no error for an unknown name")
	}
}
