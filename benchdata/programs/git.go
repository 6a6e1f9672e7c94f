package main

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/go-git/go-billy/v6"
	"github.com/go-git/go-billy/v6/osfs"
	"github.com/go-git/go-git/v6"
	"github.com/go-git/go-git/v6/plumbing"
	"github.com/go-git/go-git/v6/plumbing/cache"
	"github.com/go-git/go-git/v6/plumbing/filemode"
	"github.com/go-git/go-git/v6/plumbing/format/packfile"
	"github.com/go-git/go-git/v6/plumbing/object"
	"github.com/go-git/go-git/v6/plumbing/storer"
	"github.com/go-git/go-git/v6/storage/filesystem"
	"github.com/go-git/go-git/v6/storage/memory"
)

var gitDir = &dataset{"repository.git", makeGit}

var gitPrograms = []program{
	{name: "git-log", what: "go-git: log of 5,000 commits", data: gitDir, run: logGit},
}

func openGit(files billy.Filesystem) *filesystem.Storage {
	return filesystem.NewStorage(files, cache.NewObjectLRUDefault())
}

// makeGit writes a bare repository of one pack. Each commit adds a version of one file.
func makeGit(path string, scale float64) error {
	disk := openGit(osfs.New(path))
	repository, err := git.Init(disk, nil)
	if err != nil {
		return err
	}
	objects, r := memory.NewStorage(), random(14)
	var hashes []plumbing.Hash
	add := func(encode func(o plumbing.EncodedObject) error) (plumbing.Hash, error) {
		o := objects.NewEncodedObject()
		if err := encode(o); err != nil {
			return plumbing.ZeroHash, err
		}
		hash, err := objects.SetEncodedObject(o)
		hashes = append(hashes, hash)
		return hash, err
	}
	var head []plumbing.Hash
	for i := range scaled(5_000, scale) {
		blob, err := add(func(o plumbing.EncodedObject) error {
			o.SetType(plumbing.BlobObject)
			w, err := o.Writer()
			if err != nil {
				return err
			}
			_, err = w.Write(appendText(nil, r, between(r, 512, 8<<10)))
			return errors.Join(err, w.Close())
		})
		if err != nil {
			return err
		}
		tree, err := add((&object.Tree{Entries: []object.TreeEntry{
			{Name: fmt.Sprintf("file-%d", i%100), Mode: filemode.Regular, Hash: blob}}}).Encode)
		if err != nil {
			return err
		}
		who := object.Signature{Name: "A U Thor", Email: "author@example.com", When: archiveTime.Add(time.Duration(i) * time.Minute)}
		commit, err := add((&object.Commit{Author: who, Committer: who, TreeHash: tree, ParentHashes: head,
			Message: string(appendText(nil, r, 200))}).Encode)
		if err != nil {
			return err
		}
		head = []plumbing.Hash{commit}
	}
	if err := writePack(disk, objects, hashes); err != nil {
		return err
	}
	main := plumbing.NewHashReference("refs/heads/main", head[0])
	return errors.Join(repository.Storer.SetReference(main),
		repository.Storer.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, main.Name())))
}

func writePack(disk storer.PackfileWriter, objects storer.EncodedObjectStorer, hashes []plumbing.Hash) error {
	var pack bytes.Buffer
	if _, err := packfile.NewEncoder(&pack, objects, false).Encode(hashes, 0); err != nil {
		return err
	}
	w, err := disk.PackfileWriter()
	if err != nil {
		return err
	}
	_, err = pack.WriteTo(w)
	return errors.Join(err, w.Close())
}

func logGit(e *env) (res result, err error) {
	disk := openGit(e.billyFS(e.path))
	defer func() { err = errors.Join(err, disk.Close()) }()
	repository, err := git.Open(disk, nil)
	if err != nil {
		return res, err
	}
	commits, err := repository.Log(&git.LogOptions{})
	if err != nil {
		return res, err
	}
	defer commits.Close()
	err = commits.ForEach(func(c *object.Commit) error {
		res.add(int64(c.Hash.Bytes()[0])<<16 + c.Author.When.Unix() + int64(len(c.Message)))
		return nil
	})
	return res, err
}
