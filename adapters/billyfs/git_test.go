//go:build !js

package billyfs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-billy/v6"
	"github.com/go-git/go-billy/v6/osfs"
	"github.com/go-git/go-git/v6"
	"github.com/go-git/go-git/v6/plumbing"
	"github.com/go-git/go-git/v6/plumbing/cache"
	"github.com/go-git/go-git/v6/plumbing/object"
	"github.com/go-git/go-git/v6/storage/filesystem"

	"go.dw1.io/mmapfile/adapters/billyfs"
)

const commits = 20

// fileOf is the content of a file in the commit with that number.
func fileOf(commit int) string {
	return strings.Repeat(fmt.Sprintf("line of commit %d\n", commit), 1000)
}

// makeRepository writes a repository, in each commit of which one file is new and one is changed.
func makeRepository(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	repository, err := git.PlainInit(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := repository.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	for i := range commits {
		for _, name := range []string{"changed", fmt.Sprintf("dir/file-%d", i)} {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(fileOf(i)), 0o644)); err != nil {
				t.Fatal(err)
			}
			if _, err := tree.Add(name); err != nil {
				t.Fatal(err)
			}
		}
		author := &object.Signature{Name: "A U Thor", Email: "author@example.com", When: time.Unix(int64(1e9+i), 0).UTC()}
		if _, err := tree.Commit(fmt.Sprintf("commit %d", i), &git.CommitOptions{Author: author, Committer: author}); err != nil {
			t.Fatal(err)
		}
	}
	if err := repository.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// use clones the repository, and returns what git finds in the clone.
func use(t *testing.T, source string, newFS func(dir string) billy.Filesystem) (lines []string) {
	t.Helper()
	dir := t.TempDir()
	storage := filesystem.NewStorage(newFS(filepath.Join(dir, ".git")), cache.NewObjectLRUDefault())
	repository, err := git.Clone(storage, newFS(dir), &git.CloneOptions{URL: source})
	if err != nil {
		t.Fatal(err)
	}
	if err := repository.Close(); err != nil {
		t.Fatal(err)
	}
	storage = filesystem.NewStorage(newFS(filepath.Join(dir, ".git")), cache.NewObjectLRUDefault())
	if repository, err = git.Open(storage, newFS(dir)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = repository.Close() }) // what it holds open keeps Windows from removing it

	log, err := repository.Log(&git.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var hashes []plumbing.Hash
	err = log.ForEach(func(c *object.Commit) error {
		stats, err := c.Stats()
		lines = append(lines, fmt.Sprint(c.Hash, c.Message, c.Author, stats))
		hashes = append(hashes, c.Hash)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	tree, err := repository.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	status := func(what string) {
		t.Helper()
		s, err := tree.Status()
		if err != nil {
			t.Fatal(err)
		}
		paths := slices.Sorted(strings.Lines(s.String()))
		lines = append(lines, what+": "+strings.Join(paths, ""))
	}
	status("cloned")
	if err := os.WriteFile(filepath.Join(dir, "changed"), []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	status("changed")
	if err := tree.Checkout(&git.CheckoutOptions{Hash: hashes[len(hashes)/2], Force: true}); err != nil {
		t.Fatal(err)
	}
	status("checked out")
	content, err := os.ReadFile(filepath.Join(dir, "changed"))
	if err != nil {
		t.Fatal(err)
	}
	return append(lines, string(content))
}

// git finds the same with this file system and with that of go-billy.
func TestFS_Git(t *testing.T) {
	source := makeRepository(t)
	want := use(t, source, func(dir string) billy.Filesystem { return osfs.New(dir) })
	got := use(t, source, billyfs.New)
	if len(got) != len(want) || len(got) != commits+4 {
		t.Fatalf("%d lines, with osfs %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%.200s\n\nwith osfs %.200s", got[i], want[i])
		}
	}
	if got[commits] != "cloned: " || got[commits+1] != "changed:  M changed\n" || got[commits+3] != fileOf(commits-1-commits/2) {
		t.Errorf("it finds\n%.400s", strings.Join(got[commits:], "\n"))
	}
}
